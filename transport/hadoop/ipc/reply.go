package ipc

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
)

// answer sends the reply of a call and ends the call. It frees the call's slot before it writes, so
// that a peer that does not read delays only its own connection.
func (c *Conn) answer(call *Call, reply proto.Message, bytes []byte, err error) {
	<-c.s.slots
	h := responseHeader{call: call.ID, retry: call.RetryCount, client: call.ClientID}
	if err != nil {
		h.err = c.translate(err)
		h.status = statusError
		if h.err.Fatal {
			h.status = statusFatal
		}
	}
	// More inline calls have arrived: send their replies together.
	held := call.inline && !call.detached && c.in.buffered()
	if call.entry != nil && (!call.inline || call.detached) { // for an inline call, it was set when the call came
		c.called.Store(c.s.now())
	}
	c.unweigh(call)
	failed := c.begin(call, &h, reply, bytes)
	left := c.inflight.Add(-1)
	if held {
		c.corked = true
	}
	if failed == nil {
		c.out.finish(!held, left > 0 && !call.inline)
	}
	if left == int32(c.s.cfg.CallsPerConnMax)-1 || c.draining.Load() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	if h.status == statusFatal {
		c.retire()
	}
	c.observe(call, h.err)
}

// begin appends the frame of the reply to the outbox, which stays locked until finish. A large
// reply is encoded before begin waits for room in the outbox. Then only its bytes use memory, and
// the next call may make a large reply.
func (c *Conn) begin(call *Call, h *responseHeader, reply proto.Message, bytes []byte) error {
	if !call.building {
		out, err := c.out.begin()
		if err == nil {
			out.b = c.encode(out.b, h, reply, bytes)
		}
		return err
	}
	frame := c.encode(nil, h, reply, bytes)
	c.built(call)
	c.out.count(len(frame))
	defer c.out.count(-len(frame)) // finish counts it as part of the outbox
	out, err := c.out.begin()
	switch {
	case err != nil:
	case len(out.b) == 0:
		out.b = frame
	default:
		out.b = append(out.b, frame...)
	}
	return err
}

// encode appends the frame of the reply.
func (c *Conn) encode(b []byte, h *responseHeader, reply proto.Message, bytes []byte) []byte {
	switch {
	case h.err != nil:
		return h.appendFrame(b)
	case reply == nil:
		return h.appendBytes(b, bytes)
	}
	out, err := h.appendMessage(b, reply)
	if err == nil {
		return out
	}
	c.s.log.Error("reply cannot be written", "method", reply.ProtoReflect().Descriptor().FullName(), "error", err)
	h.status, h.err = statusError, &Error{Class: ClassServer, Message: "reply: " + err.Error(), Detail: DetailSerializing}
	return h.appendFrame(b)
}

// translate converts a handler's error to what is sent.
func (c *Conn) translate(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if f := c.s.cfg.Translate; f != nil {
		if e = f(err); e != nil {
			return e
		}
	}
	return &Error{Class: ClassYarn, Message: err.Error()}
}

// observe calls Observe.Call for an answered call.
func (c *Conn) observe(call *Call, e *Error) {
	f := c.s.cfg.Observe.Call
	if f == nil {
		return
	}
	protocol, method, code := call.Protocol, call.Method, "OK"
	if protocol == "" {
		protocol = "unknown"
	}
	if method == "" {
		method = "unknown"
	}
	if e != nil {
		code = lastName(e.Class)
	}
	f(protocol, method, code, time.Since(call.Received))
}
