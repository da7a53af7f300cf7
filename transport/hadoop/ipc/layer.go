package ipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"google.golang.org/protobuf/encoding/protowire"

	"rmd/internal/gss"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token/digest"
)

// Protection is a set of the qualities of protection that a port offers or a client takes.
type Protection = digest.Protection

// The qualities of protection.
const (
	Authentication = digest.Authentication
	Integrity      = digest.Integrity
	Privacy        = digest.Privacy
)

// layer protects the messages of a connection after its negotiation.
type layer interface {
	// Wrap appends the protected message to dst.
	Wrap(dst, message []byte) []byte
	// Unwrap checks a message of the other side, and decrypts it in place.
	Unwrap(token []byte) ([]byte, error)
}

// gssLayer protects messages with a context of Kerberos.
type gssLayer struct {
	ctx  *gss.Context
	seal bool // encrypt, and accept nothing else
}

func (l gssLayer) Wrap(dst, message []byte) []byte { return l.ctx.Wrap(dst, message, l.seal) }

func (l gssLayer) Unwrap(token []byte) ([]byte, error) {
	message, sealed, err := l.ctx.Unwrap(token)
	if err == nil && l.seal && !sealed {
		err = errors.New("a message is not encrypted")
	}
	return message, err
}

// envelope wraps frames into frames of their own.
type envelope struct {
	layer
	head []byte // header of such a frame, after its length
}

// The headers of wrapped frames.
func replyHead() []byte {
	h := responseHeader{call: idSasl, retry: noRetry}
	return h.append(nil, h.size())
}
func requestHead() []byte { return appendRequestHeader(nil, idSasl, "", noRetry) }

// replace replaces what is in b after from by a frame in which it is wrapped.
func (e *envelope) replace(b []byte, from int) []byte {
	s := outBuffers.Get().(*outBuffer)
	s.b = e.Wrap(s.b[:0], b[from:])
	size := 3 + protowire.SizeBytes(len(s.b))
	b = binary.BigEndian.AppendUint32(b[:from], uint32(len(e.head)+protowire.SizeBytes(size)))
	b = protowire.AppendVarint(append(b, e.head...), uint64(size))
	b = protowire.AppendBytes(append(b, 0x10, byte(proto.RpcSaslProto_WRAP), 0x1a), s.b)
	if s.b = s.b[:0]; cap(s.b) <= keepMax {
		outBuffers.Put(s)
	}
	return b
}

// wrapMax is more than wrapping adds to a frame, in bytes.
const wrapMax = 1 << 10

// unwrapped is a connection behind a layer: it reads wrapped frames, and Read returns what is in
// them. That is a stream of frames again: one wrapped frame may have several of them, or a part.
type unwrapped struct {
	net.Conn
	outer intake
	layer layer
	// limit returns the most bytes of a frame in the stream.
	limit func() int
	// body returns the message of a wrapped frame.
	body  func(frame []byte) ([]byte, error)
	plain []byte // unread; its memory is that of outer
}

// behind returns the intake of a connection behind a layer. The caller must store it in *in.
func (in *intake) behind(l layer, limit func() int, body func([]byte) ([]byte, error)) intake {
	u := &unwrapped{Conn: in.conn, outer: *in, layer: l, limit: limit, body: body}
	u.outer.tryRead = nil // it is bound to in
	if waiting := in.waiting; waiting != nil {
		u.outer.waiting = func() {
			if !in.partial { // else the time of the frame in the stream runs already
				waiting()
			}
		}
	}
	return newIntake(u, in.large, in.from, in.waiting)
}

// ready waits until there is something to read. It holds no buffer while it waits.
func (u *unwrapped) ready() error {
	for len(u.plain) == 0 {
		frame, err := u.outer.next(u.limit() + wrapMax)
		if err != nil {
			return err
		}
		body, err := u.body(frame)
		if err != nil {
			return err
		}
		token, err := wrappedToken(body)
		if err != nil {
			return err
		}
		if u.plain, err = u.layer.Unwrap(token); err != nil {
			return fmt.Errorf("%w: %w", ErrFrame, err)
		}
	}
	return nil
}

// Read implements net.Conn.
func (u *unwrapped) Read(b []byte) (int, error) {
	if err := u.ready(); err != nil {
		return 0, err
	}
	n := copy(b, u.plain)
	u.plain = u.plain[n:]
	return n, nil
}

// wrappedToken returns the token of an RpcSaslProto of the state WRAP. It shares the memory of b.
func wrappedToken(b []byte) ([]byte, error) {
	var state uint64
	var token []byte
	err := fields(b, func(n protowire.Number, t protowire.Type, v uint64, data []byte) {
		switch {
		case n == 2 && t == protowire.VarintType:
			state = v
		case n == 3 && t == protowire.BytesType:
			token = data
		}
	})
	if err == nil && (state != uint64(proto.RpcSaslProto_WRAP) || token == nil) {
		err = errors.New("a message is not wrapped")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return token, nil
}

// wrappedRequest returns the message of a wrapped frame of a client.
func wrappedRequest(frame []byte) ([]byte, error) {
	head, rest, err := cut(frame)
	var h requestHeader
	if err == nil {
		err = h.read(head)
	}
	if err == nil && h.call != idSasl {
		err = errors.New("a message is not wrapped")
	}
	var body []byte
	if err == nil {
		body, _, err = cut(rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return body, nil
}

// wrappedReply returns the message of a wrapped frame of a server. An error that is not wrapped is
// refused too, because anybody on the way can send it.
func wrappedReply(frame []byte) ([]byte, error) {
	head, rest, err := cut(frame)
	var h replyHeader
	if err == nil {
		err = h.read(head)
	}
	if err == nil && (h.call != idSasl || h.status != statusSuccess) {
		err = errors.New("a message is not wrapped")
	}
	var body []byte
	if err == nil {
		body, _, err = cut(rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return body, nil
}

// protect wraps everything that the connection sends and receives from now on.
func (c *Conn) protect(l layer) {
	c.out.protect(&envelope{l, replyHead()})
	c.in = c.in.behind(l, c.frameMax, wrappedRequest)
}

func (cc *ClientConn) protect(l layer) {
	cc.out.protect(&envelope{l, requestHead()})
	cc.in = cc.in.behind(l, func() int { return cc.cl.cfg.FrameMax }, wrappedReply)
}
