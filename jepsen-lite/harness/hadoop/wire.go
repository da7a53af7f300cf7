package hadoop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The protocol names of the four ports.
const (
	ClientProtocol  = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	MasterProtocol  = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	TrackerProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
	AdminProtocol   = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
)

// The authentication byte of the preamble.
const (
	AuthNone = 0x00
	AuthSasl = 0xdf
)

// The call ids of messages that are not calls.
const (
	idContext = -3
	idSasl    = -33
)

// ErrWire means that an answer does not follow Hadoop's protocol.
var ErrWire = errors.New("not Hadoop's wire")

// frameMax limits the size of an answer, in bytes.
const frameMax = 16 << 20

// Preamble returns the first bytes of a connection.
func Preamble(auth byte) []byte { return []byte{'h', 'r', 'p', 'c', 9, 0, auth} }

// Number appends a varint field. The number may be negative.
func Number(b []byte, field int, v int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3), uint64(v))
}

// Bytes appends a field with bytes, text or a message.
func Bytes(b []byte, field int, v []byte) []byte {
	return delimited(binary.AppendUvarint(b, uint64(field)<<3|2), v)
}

// Text appends a field with text.
func Text(b []byte, field int, v string) []byte { return Bytes(b, field, []byte(v)) }

func delimited(b, message []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(message))), message...)
}

// frame returns a length and the messages, each with its own length.
func frame(messages ...[]byte) []byte {
	b := make([]byte, 4)
	for _, m := range messages {
		b = delimited(b, m)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// header returns the RpcRequestHeaderProto at the start of every frame.
func header(call int32) []byte {
	zigzag := func(v int32) int64 { return int64(uint32(v<<1) ^ uint32(v>>31)) }
	b := Number(Number(Number(nil, 1, 2), 2, 0), 3, zigzag(call))
	return Number(Text(b, 4, "sixteen bytes..."), 5, zigzag(-1))
}

// Context returns the frame with the IpcConnectionContextProto: the user and the protocol.
func Context(user, protocol string) []byte {
	who := Bytes(nil, 2, Text(nil, 1, user))
	return frame(header(idContext), Text(who, 3, protocol))
}

// Sasl returns the frame of one SASL message.
func Sasl(message []byte) []byte { return frame(header(idSasl), message) }

// Request returns the frame of one call.
func Request(call int32, protocol, method string, body []byte) []byte {
	return frame(header(call), Number(Text(Text(nil, 1, method), 2, protocol), 3, 1), body)
}

// Each calls see for each field of a message. It returns ErrWire if the message is malformed.
func Each(b []byte, see func(field int, number int64, bytes []byte)) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("field: %w", ErrWire)
		}
		b = b[n:]
		v, size := uint64(0), 0
		switch tag & 7 {
		case 0, 2:
			if v, size = binary.Uvarint(b); size <= 0 {
				return fmt.Errorf("field %d: %w", tag>>3, ErrWire)
			}
		case 1:
			size = 8
		case 5:
			size = 4
		default:
			return fmt.Errorf("field %d: %w", tag>>3, ErrWire)
		}
		var data []byte
		if tag&7 == 2 {
			if v > uint64(len(b)-size) {
				return fmt.Errorf("field %d: %w", tag>>3, ErrWire)
			}
			data = b[size : size+int(v)]
			size += int(v)
			v = 0
		}
		if size > len(b) {
			return fmt.Errorf("field %d: %w", tag>>3, ErrWire)
		}
		see(int(tag>>3), int64(v), data)
		b = b[size:]
	}
	return nil
}

// Refusal is an error answer of the server: the exception's class and message.
type Refusal struct {
	Class, Message string
	Fatal          bool // the server closes the connection
}

// Error returns the class and the message.
func (r *Refusal) Error() string { return r.Class + ": " + r.Message }

// ReadReply reads one answer and returns its message. An error answer is a *Refusal.
func ReadReply(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > frameMax {
		return nil, fmt.Errorf("an answer of %d bytes: %w", n, ErrWire)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	head, rest, err := cut(b)
	if err != nil {
		return nil, err
	}
	var status int64
	refusal := &Refusal{}
	err = Each(head, func(field int, number int64, data []byte) {
		switch field {
		case 2:
			status = number
		case 4:
			refusal.Class = string(data)
		case 5:
			refusal.Message = string(data)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case status != 0:
		refusal.Fatal = status == 2
		return nil, refusal
	case len(rest) == 0:
		return nil, nil
	}
	body, _, err := cut(rest)
	return body, err
}

// cut splits off the first message, which has its length before it.
func cut(b []byte) (message, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, fmt.Errorf("message: %w", ErrWire)
	}
	return b[n : n+int(size)], b[n+int(size):], nil
}
