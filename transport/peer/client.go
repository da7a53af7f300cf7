package peer

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// client has the one rpc connection to an address. It dials again after the connection has ended.
type client struct {
	s    *Server
	addr string

	mu      sync.Mutex
	conn    *clientConn
	dialing *dialAttempt
}

// dialAttempt is shared by all calls that wait for the same dial.
type dialAttempt struct {
	done chan struct{}
	conn *clientConn
	err  error
}

// Call sends one request to the replica at addr and waits for its reply. Many calls share one
// connection. If the error Is ErrNotSent, the request may be repeated. If it Is ErrOutcomeUnknown,
// only a request that is harmless when repeated may be repeated. A *RemoteError is the error of the
// other side's handler.
func (s *Server) Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error) {
	return s.CallUntil(ctx, nil, addr, method, req)
}

// CallUntil is Call that also ends when over is closed, as if ctx had ended. A caller can use it
// instead of creating a context for each call.
func (s *Server) CallUntil(ctx context.Context, over <-chan struct{}, addr string, method byte,
	req []byte) ([]byte, error) {
	if len(req) > s.cfg.FrameMax {
		return nil, notSent(fmt.Errorf("request of %d bytes: %w", len(req), ErrTooLarge))
	}
	s.mu.Lock()
	c := s.clients[addr]
	if c == nil {
		c = &client{s: s, addr: addr}
		s.clients[addr] = c
	}
	rules := s.gate
	s.mu.Unlock()
	cc, err := c.get(ctx, over)
	if err != nil {
		return nil, notSent(err)
	}
	if rules.authorizeAnswer != nil {
		if err := rules.authorizeAnswer(method, cc.server); err != nil {
			return nil, notSent(err)
		}
	}
	return cc.call(ctx, over, method, req)
}

// get returns a live connection. Callers that wait at the same time share one dial.
func (c *client) get(ctx context.Context, over <-chan struct{}) (*clientConn, error) {
	c.mu.Lock()
	if c.conn != nil && !c.conn.dead() {
		defer c.mu.Unlock()
		return c.conn, nil
	}
	d := c.dialing
	if d == nil {
		d = &dialAttempt{done: make(chan struct{})}
		c.dialing = d
		if !c.s.spawn(func() { c.dial(d) }) {
			c.dialing = nil
			c.mu.Unlock()
			return nil, ErrClosed
		}
	}
	c.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-over:
		return nil, context.Canceled
	}
}

// dial does not use its callers' contexts, so that the end of one caller does not end the dial for
// others.
func (c *client) dial(d *dialAttempt) {
	conn, them, err := c.s.dial(c.s.ctx, c.addr, KindRPC)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialing = nil
	defer close(d.done)
	if err != nil {
		d.err = err
		return
	}
	cc := &clientConn{conn: conn, server: them.ServerID(), limit: c.s.cfg.FrameMax, out: make(chan *outgoing, 64),
		done: make(chan struct{}), slots: make(chan struct{}, c.s.cfg.InFlightMax), pending: map[uint64]chan frame{}}
	if !c.s.spawn(cc.write) || !c.s.spawn(cc.read) {
		cc.fail(ErrClosed)
		d.err = ErrClosed
		return
	}
	c.conn, d.conn = cc, cc
}

// spawn starts a goroutine that Close waits for. It returns false after Close.
func (s *Server) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Go(f)
	return true
}

// The states of an outgoing frame. The writer and the caller change the state from queued with
// compare-and-swap, so exactly one of them succeeds.
const (
	frameQueued int32 = iota
	frameTaken
	frameDropped
)

// outgoing is a frame in the writer's queue.
type outgoing struct {
	f     frame
	state atomic.Int32
}

// clientConn is the calling side of one connection. It has a writer and a reader goroutine.
type clientConn struct {
	conn   net.Conn
	server string // ID.INCARNATION of the other replica
	limit  int
	out    chan *outgoing
	slots  chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	err     error
	nextID  uint64
	pending map[uint64]chan frame
}

func (c *clientConn) dead() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// fail ends the connection with err. Only the first call has an effect.
func (c *clientConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
		_ = c.conn.Close()
	}
}

// call sends one request and waits for the reply.
func (c *clientConn) call(ctx context.Context, over <-chan struct{}, method byte, req []byte) ([]byte, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, notSent(ctx.Err())
	case <-over:
		return nil, notSent(context.Canceled)
	case <-c.done:
		return nil, notSent(c.err)
	}
	id, reply := c.register()
	defer c.forget(id)
	o := &outgoing{f: frame{kind: frameRequest, method: method, id: id, payload: req}}
	select {
	case c.out <- o:
	case <-ctx.Done():
		return nil, notSent(ctx.Err())
	case <-over:
		return nil, notSent(context.Canceled)
	case <-c.done:
		return nil, notSent(c.err)
	}
	select {
	case f := <-reply:
		return answer(f)
	case <-ctx.Done():
		return c.abandon(o, ctx.Err())
	case <-over:
		return c.abandon(o, context.Canceled)
	case <-c.done:
		return c.outcomeAfterEnd(o, reply)
	}
}

// abandon ends a call that is in the writer's queue.
func (c *clientConn) abandon(o *outgoing, why error) ([]byte, error) {
	if o.state.CompareAndSwap(frameQueued, frameDropped) {
		return nil, notSent(why)
	}
	c.queueFrame(frame{kind: frameCancel, id: o.f.id})
	return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, why)
}

// outcomeAfterEnd returns the result of a call after the connection has ended.
func (c *clientConn) outcomeAfterEnd(o *outgoing, reply chan frame) ([]byte, error) {
	select {
	case f := <-reply:
		return answer(f)
	default:
	}
	if o.state.CompareAndSwap(frameQueued, frameDropped) {
		return nil, notSent(c.err)
	}
	return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, c.err)
}

// answer returns the payload of a reply frame, or its error.
func answer(f frame) ([]byte, error) {
	if f.kind == frameError {
		return nil, decodeError(f.payload)
	}
	return f.payload, nil
}

func (c *clientConn) register() (uint64, chan frame) {
	reply := make(chan frame, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextID++
	c.pending[c.nextID] = reply
	return c.nextID, reply
}

func (c *clientConn) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// queueFrame queues a frame. It drops the frame if the queue is full.
func (c *clientConn) queueFrame(f frame) {
	select {
	case c.out <- &outgoing{f: f}:
	default:
	}
}

// write is the writer goroutine. It flushes when no more frames wait.
func (c *clientConn) write() {
	w := bufio.NewWriterSize(c.conn, 64<<10)
	for {
		select {
		case o := <-c.out:
			if !o.state.CompareAndSwap(frameQueued, frameTaken) {
				continue
			}
			err := writeFrame(w, o.f)
			if err == nil && idle(c.out) {
				err = w.Flush()
			}
			if err != nil {
				c.fail(err)
				return
			}
		case <-c.done:
			return
		}
	}
}

// read is the reader goroutine.
func (c *clientConn) read() {
	r := bufio.NewReaderSize(c.conn, 64<<10)
	for {
		f, err := readFrame(r, func() int { return c.limit })
		if err != nil {
			c.fail(err)
			return
		}
		if f.kind != frameReply && f.kind != frameError {
			c.fail(fmt.Errorf("kind %d from the answering side: %w", f.kind, ErrFrame))
			return
		}
		c.mu.Lock()
		reply := c.pending[f.id]
		delete(c.pending, f.id)
		c.mu.Unlock()
		if reply != nil {
			reply <- f // capacity 1, one reply per id
		}
	}
}
