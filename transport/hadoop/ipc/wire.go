package ipc

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Constants of Hadoop's IPC protocol.
const (
	ipcVersion = 9
	authNone   = 0x00
	authSasl   = 0xdf

	idAuthFailed = -1
	idContext    = -3
	idPing       = -4
	idSasl       = -33

	noRetry = -1

	kindProtobuf = 2

	statusSuccess = 0
	statusError   = 1
	statusFatal   = 2
)

// preamble is the start of every connection. The authentication byte follows it.
const preamble = "hrpc\x09\x00"

// requestHeader is Hadoop's RpcRequestHeaderProto. client shares the memory of the frame.
type requestHeader struct {
	kind, op    int64
	hasKind     bool
	hasOp       bool
	hasCall     bool
	call, retry int32
	client      []byte
	hasClient   bool
}

// fields calls see for each field of a message. It accepts any bytes and returns an error for
// malformed ones.
func fields(b []byte, see func(n protowire.Number, t protowire.Type, v uint64, data []byte)) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		switch typ {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			see(num, typ, v, nil)
			b = b[n:]
		case protowire.BytesType:
			data, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			see(num, typ, 0, data)
			b = b[n:]
		default:
			n := protowire.ConsumeFieldValue(num, typ, b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
		}
	}
	return nil
}

// read parses the header.
func (h *requestHeader) read(b []byte) error {
	h.retry = noRetry
	err := fields(b, func(n protowire.Number, t protowire.Type, v uint64, data []byte) {
		switch {
		case n == 1 && t == protowire.VarintType && int32(v) >= 0 && int32(v) <= kindProtobuf:
			h.kind, h.hasKind = int64(v), true
		case n == 2 && t == protowire.VarintType && int32(v) >= 0 && int32(v) <= 2:
			h.op, h.hasOp = int64(v), true
		case n == 3 && t == protowire.VarintType:
			h.call, h.hasCall = int32(protowire.DecodeZigZag(v&0xffffffff)), true
		case n == 4 && t == protowire.BytesType:
			h.client, h.hasClient = data, true
		case n == 5 && t == protowire.VarintType:
			h.retry = int32(protowire.DecodeZigZag(v & 0xffffffff))
		}
	})
	switch {
	case err != nil:
	case !h.hasCall || !h.hasClient:
		err = fmt.Errorf("call id or client id is missing: %w", ErrFrame)
	case len(h.client) > clientIDMax:
		err = fmt.Errorf("the client id has %d bytes, at most %d are taken: %w", len(h.client), clientIDMax, ErrFrame)
	}
	return err
}

// methodHeader is Hadoop's RequestHeaderProto. The names share the memory of the frame.
type methodHeader struct {
	method, protocol []byte
	version          uint64
}

// read parses the header.
func (h *methodHeader) read(b []byte) error {
	var seen uint8
	err := fields(b, func(n protowire.Number, t protowire.Type, v uint64, data []byte) {
		switch {
		case n == 1 && t == protowire.BytesType:
			h.method = data
			seen |= 1
		case n == 2 && t == protowire.BytesType:
			h.protocol = data
			seen |= 2
		case n == 3 && t == protowire.VarintType:
			h.version = v
			seen |= 4
		}
	})
	if err == nil && seen != 7 {
		err = fmt.Errorf("method, protocol or version is missing: %w", ErrFrame)
	}
	return err
}

// cut splits off one delimited message.
func cut(b []byte) (message, rest []byte, err error) {
	message, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, nil, protowire.ParseError(n)
	}
	return message, b[n:], nil
}

// responseHeader has the fields of Hadoop's RpcResponseHeaderProto that are sent.
type responseHeader struct {
	call, retry int32
	client      string
	status      uint64
	err         *Error // nil only for success
}

// detail returns the error code to send.
func (e *Error) detail(status uint64) int32 {
	switch {
	case e.Detail != 0:
		return e.Detail
	case status == statusFatal:
		return DetailFatalUnknown
	}
	return DetailApplication
}

func (h *responseHeader) size() int {
	n := 1 + protowire.SizeVarint(uint64(uint32(h.call))) + 2 + 2
	if h.err != nil {
		n += 1 + protowire.SizeBytes(len(h.err.Class)) + 1 + protowire.SizeBytes(len(h.err.Message)) +
			1 + protowire.SizeVarint(uint64(uint32(h.err.detail(h.status))))
	}
	return n + 1 + protowire.SizeBytes(len(h.client)) + 1 + protowire.SizeVarint(uint64(zigzag(h.retry)))
}

// append appends the header after its length.
func (h *responseHeader) append(b []byte, size int) []byte {
	b = protowire.AppendVarint(b, uint64(size))
	b = append(b, 0x08)
	b = protowire.AppendVarint(b, uint64(uint32(h.call)))
	b = append(b, 0x10, byte(h.status), 0x18, ipcVersion)
	if h.err != nil {
		b = protowire.AppendString(append(b, 0x22), h.err.Class)
		b = protowire.AppendString(append(b, 0x2a), h.err.Message)
		b = protowire.AppendVarint(append(b, 0x30), uint64(uint32(h.err.detail(h.status))))
	}
	b = protowire.AppendString(append(b, 0x3a), h.client)
	return protowire.AppendVarint(append(b, 0x40), uint64(zigzag(h.retry)))
}

func zigzag(n int32) uint32 { return uint32(n<<1) ^ uint32(n>>31) }

// appendFrame appends a frame with only a header.
func (h *responseHeader) appendFrame(b []byte) []byte {
	n := h.size()
	b = binary.BigEndian.AppendUint32(b, uint32(protowire.SizeVarint(uint64(n))+n))
	return h.append(b, n)
}

// appendBytes appends a frame with a header and an encoded message.
func (h *responseHeader) appendBytes(b, message []byte) []byte {
	n := h.size()
	b = binary.BigEndian.AppendUint32(b, uint32(protowire.SizeVarint(uint64(n))+n+protowire.SizeBytes(len(message))))
	return protowire.AppendBytes(h.append(b, n), message)
}

// appendMessage appends a frame with a header and a message. On an error it returns b unchanged.
func (h *responseHeader) appendMessage(b []byte, m proto.Message) ([]byte, error) {
	var opts proto.MarshalOptions
	size := opts.Size(m)
	n := h.size()
	out := binary.BigEndian.AppendUint32(b, uint32(protowire.SizeVarint(uint64(n))+n+protowire.SizeBytes(size)))
	out = protowire.AppendVarint(h.append(out, n), uint64(size))
	from := len(out)
	opts.UseCachedSize = true
	out, err := opts.MarshalAppend(out, m)
	switch {
	case err != nil:
		return b, err
	case len(out)-from != size:
		return b, fmt.Errorf("message changed while it was written: %w", ErrFrame)
	}
	return out, nil
}

// appendRequestHeader appends an RpcRequestHeaderProto after its length.
func appendRequestHeader(b []byte, call int32, client string, retry int32) []byte {
	id, again := uint64(zigzag(call)), uint64(zigzag(retry))
	n := 2 + 2 + 1 + protowire.SizeVarint(id) + 1 + protowire.SizeBytes(len(client)) + 1 + protowire.SizeVarint(again)
	b = protowire.AppendVarint(b, uint64(n))
	b = protowire.AppendVarint(append(b, 0x08, kindProtobuf, 0x10, 0, 0x18), id)
	b = protowire.AppendString(append(b, 0x22), client)
	return protowire.AppendVarint(append(b, 0x28), again)
}

// appendMethodHeader appends a RequestHeaderProto after its length.
func appendMethodHeader(b []byte, method, protocol string, version uint64) []byte {
	n := 1 + protowire.SizeBytes(len(method)) + 1 + protowire.SizeBytes(len(protocol)) + 1 + protowire.SizeVarint(version)
	b = protowire.AppendVarint(b, uint64(n))
	b = protowire.AppendString(append(b, 0x0a), method)
	b = protowire.AppendString(append(b, 0x12), protocol)
	return protowire.AppendVarint(append(b, 0x18), version)
}
