package ipc

import (
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/protobuf/proto"
)

// idleWorkersMax is the number of idle workers that are kept.
const idleWorkersMax = 256

// handle processes one frame. over means that another goroutine continues to read. An error ends
// the connection.
func (c *Conn) handle(frame []byte) (over bool, err error) {
	now := c.s.now()
	c.last.Store(now)
	var h requestHeader
	head, rest, err := cut(frame)
	if err == nil {
		err = h.read(head)
	}
	if err != nil {
		return false, c.refuse(idAuthFailed, noRetry,
			fatal(DetailFatalRequest, ClassServer, "RpcRequestHeaderProto: %v", err))
	}
	switch {
	case !h.hasOp:
		return false, c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer, "the request header has no operation"))
	case h.op != 0:
		return false, c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer,
			"operation %d of the request header is not served", h.op))
	case !h.hasKind:
		return false, c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer, "the request header has no kind"))
	case h.call < 0:
		return false, c.control(&h, rest)
	case c.caller == nil:
		return false, c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer,
			"a call came before the connection context"))
	case h.kind != kindProtobuf:
		return false, c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer,
			"calls of kind %d are not served", h.kind))
	}
	if c.served && c.deadline.Load() != 0 {
		c.deadline.Store(0)
	}
	return c.request(&h, rest)
}

// control handles a frame that is not a call.
func (c *Conn) control(h *requestHeader, rest []byte) error {
	if h.call == idPing {
		if c.served {
			c.deadline.Store(0)
		}
		return nil
	}
	if h.call != idSasl && h.call != idContext {
		return c.refuse(h.call, h.retry, fatal(DetailFatalHeader, ClassServer, "unknown control message %d", h.call))
	}
	body, _, err := cut(rest)
	if err != nil {
		return c.refuse(h.call, h.retry, fatal(DetailFatalRequest, ClassServer, "control message %d: %v", h.call, err))
	}
	if h.call == idSasl {
		return c.negotiate(h, body)
	}
	return c.introduce(h, body)
}

// request starts one call when the limits allow it.
func (c *Conn) request(h *requestHeader, rest []byte) (over bool, err error) {
	if string(h.client) != c.clientID {
		c.clientID = string(h.client)
	}
	call := &Call{Caller: c.caller, Conn: c, ClientID: c.clientID, ID: h.call, RetryCount: h.retry,
		Received: c.s.epoch.Add(time.Duration(c.last.Load()))}
	body, memory, e := c.find(call, rest)
	if err := c.weigh(call, memory); err != nil {
		return false, err
	}
	if err := c.admit(); err != nil {
		c.unweigh(call)
		return false, err
	}
	if e == nil {
		e = call.decode(body)
	}
	if e != nil {
		c.answer(call, nil, nil, e)
		return false, nil
	}
	c.called.Store(c.last.Load())
	if !c.served {
		c.served = true
		c.deadline.Store(0)
	}
	if !call.entry.inline {
		if call.body != nil {
			call.body = append(make([]byte, 0, len(call.body)), call.body...)
		}
		if err := c.awaitTurn(call); err != nil {
			c.answer(call, nil, nil, err)
			return false, err
		}
		c.s.dispatch(call)
		return false, nil
	}
	call.inline = true
	c.serve(call)
	return call.detached, nil
}

// weigh waits until there is memory for a large request. memory is what the request needs, in bytes.
func (c *Conn) weigh(call *Call, memory int64) error {
	if memory <= readSize {
		return nil
	}
	if c.corked {
		c.corked = false
		c.out.flush()
	}
	if err := c.s.requests.acquire(c.ctx, c.from, c.isProven(), memory); err != nil {
		return err
	}
	call.weight = memory
	return nil
}

func (c *Conn) unweigh(call *Call) {
	if call.weight > 0 {
		c.s.requests.release(c.from, c.isProven(), call.weight)
		call.weight = 0
	}
}

// isProven reports whether the caller has a token or a ticket. Others only say who they are.
func (c *Conn) isProven() bool { return c.caller.Kind != KindSimple }

// admit waits until the limits allow another call, and counts the call.
func (c *Conn) admit() error {
	if c.inflight.Load() >= int32(c.s.cfg.CallsPerConnMax) && c.corked {
		c.corked = false
		c.out.flush()
	}
	for c.inflight.Load() >= int32(c.s.cfg.CallsPerConnMax) {
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	select {
	case c.s.slots <- struct{}{}:
	default:
		c.corked = false
		c.out.flush()
		select {
		case c.s.slots <- struct{}{}:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	c.inflight.Add(1)
	return nil
}

// find looks up the method. It returns the encoded request and the memory that it needs, in bytes.
// A request that needs too much is refused before anything of it is decoded.
func (c *Conn) find(call *Call, rest []byte) (body []byte, memory int64, e *Error) {
	if f := c.s.cfg.Standby; f != nil {
		if err := f(); err != nil {
			return nil, 0, standbyError(err)
		}
	}
	if e := c.method(call, &rest); e != nil {
		return nil, 0, e
	}
	body, _, err := cut(rest)
	if err == nil {
		memory, err = call.entry.shape.Memory(body, c.s.requests.each)
	}
	if err != nil {
		return nil, 0, badRequest(call.entry, err)
	}
	if call.entry.bytes != nil {
		memory += int64(len(body)) // the handler gets a copy
	}
	return body, min(memory, c.s.requests.each), nil
}

func badRequest(m *entry, err error) *Error {
	return &Error{Class: ClassServer, Message: "request of " + m.name + ": " + err.Error(), Detail: DetailServer}
}

// decode decodes the request.
func (call *Call) decode(body []byte) *Error {
	if call.entry.bytes != nil {
		call.body = body
		return nil
	}
	var err error
	if call.req, err = call.entry.decode(body); err != nil {
		return badRequest(call.entry, err)
	}
	return nil
}

// method looks up the method that a request names, and leaves what follows its header in rest.
func (c *Conn) method(call *Call, rest *[]byte) *Error {
	head, after, err := cut(*rest)
	*rest = after
	var h methodHeader
	if err == nil {
		err = h.read(head)
	}
	if err != nil {
		return &Error{Class: ClassServer, Message: "RequestHeaderProto: " + err.Error(), Detail: DetailServer}
	}
	s := c.s.services[string(h.protocol)]
	if s == nil {
		return &Error{Class: ClassNoSuchProtocol, Message: "Unknown protocol: " + clip(h.protocol),
			Detail: DetailNoSuchProtocol}
	}
	call.Protocol = s.name
	if c.s.cfg.Authorize != nil && s.name != c.allowed {
		if e := c.authorize(c.caller, s.name); e != nil {
			return e
		}
	}
	if h.version != s.version {
		return &Error{Class: ClassVersion, Detail: DetailVersion,
			Message: fmt.Sprintf("%s is served in version %d, not in %d", s.name, s.version, h.version)}
	}
	m := s.methods[string(h.method)]
	if m == nil {
		return &Error{Class: ClassNoSuchMethod, Detail: DetailNoSuchMethod,
			Message: fmt.Sprintf("Unknown method %s called on %s protocol.", clip(h.method), s.name)}
	}
	call.entry, call.Method = m, m.name
	return nil
}

// dispatch gives a call to an idle worker or a new one. The number of busy workers is at most that
// of the calls in flight plus the calls whose peer does not read its reply.
func (s *Server) dispatch(call *Call) {
	select {
	case s.jobs <- call:
	default:
		s.workers.Go(func() { s.work(call) })
	}
}

// work serves calls one after the other.
func (s *Server) work(call *Call) {
	for {
		call.Conn.serve(call)
		call = nil
		if s.idle.Add(1) > idleWorkersMax {
			s.idle.Add(-1)
			return
		}
		select {
		case call = <-s.jobs:
			s.idle.Add(-1)
		case <-s.ctx.Done():
			return
		}
	}
}

// serve runs the handler and sends the reply. invoke recovers panics of the handler; serve recovers
// those of Translate and Observe.
func (c *Conn) serve(call *Call) {
	defer func() {
		if p := recover(); p != nil {
			c.built(call)
			c.panicked(p)
		}
	}()
	reply, bytes, err := c.invoke(call)
	call.req = nil
	c.answer(call, reply, bytes, err)
}

// invoke runs the handler. A panic becomes an error of this call only.
func (c *Conn) invoke(call *Call) (reply proto.Message, bytes []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.s.log.Error("handler panicked", "protocol", call.Protocol, "method", call.Method, "panic", p, "stack",
				string(debug.Stack()))
			reply, bytes, err = nil, nil, &Error{Class: ClassYarn, Message: "internal error in " + call.Method}
		}
	}()
	if call.entry.bytes != nil {
		bytes, err = call.entry.bytes(c.ctx, call, call.body)
		return nil, bytes, err
	}
	reply, err = call.entry.serve(c.ctx, call, call.req)
	return reply, nil, err
}
