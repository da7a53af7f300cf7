package ipc

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"rmd/internal/share"
	"rmd/transport/hadoop/token/digest"
)

// Conn is one accepted connection. Handlers can distinguish connections by it, and store values in
// it.
type Conn struct {
	s    *Server
	id   uint64
	peer netip.AddrPort
	from netip.Prefix // the address that it counts against
	net  net.Conn
	out  outbox
	in   intake // used by the goroutine that reads

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when the connection is removed from the server
	reason atomic.Pointer[string]

	inflight atomic.Int32
	wake     chan struct{} // signals the reader that a call has ended
	draining atomic.Bool
	last     atomic.Int64 // time of the last frame
	called   atomic.Int64 // time when the last call came or ended; at first, when the connection was accepted
	deadline atomic.Int64 // time by which the peer must send more; 0: none

	// The following fields belong to the goroutine that reads.
	caller   *Caller // nil before the connection context
	sasl     bool    // the preamble asked for SASL, and the client has not chosen SIMPLE
	offered  bool    // NEGOTIATE was answered
	proof    *digest.Server
	gss      *gssapi // the negotiation of KERBEROS
	proven   *Caller // the caller by its token or its ticket
	agreed   layer   // protects the connection after the negotiation; nil: nothing does
	outcome  string  // why the negotiation failed, if its exception does not say it
	allowed  string  // the protocol that Config.Authorize has allowed last
	clientID string
	served   bool // a call was served
	corked   bool // the outbox has unflushed bytes

	mu     sync.Mutex
	values map[any]any
}

// ID returns a number that is unique in the life of the server. A caller that reconnects gets
// another one.
func (c *Conn) ID() uint64 { return c.id }

// Context returns a context that ends with the connection.
func (c *Conn) Context() context.Context { return c.ctx }

// Value returns the value stored under key, or nil.
func (c *Conn) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values[key]
}

// SetValue stores value under key for the life of the connection. nil removes it.
func (c *Conn) SetValue(key, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value == nil {
		delete(c.values, key)
		return
	}
	if c.values == nil {
		c.values = map[any]any{}
	}
	c.values[key] = value
}

// The reasons for Observe.Closed.
const (
	endPeer     = "peer"     // closed by the other side
	endIdle     = "idle"     // no call came and none was in flight
	endCrowded  = "crowded"  // it was idle, and a new connection replaced it
	endSlow     = "slow"     // a frame, or the handshake, did not arrive in time
	endUnread   = "unread"   // replies were not read
	endProtocol = "protocol" // not Hadoop's protocol, or a malformed or too long frame
	endRefused  = "refused"  // a FATAL reply was sent
	endShutdown = "shutdown" // the server is closing
	endPanic    = "panic"    // a function of Config panicked
)

func newConn(s *Server, nc net.Conn, id uint64, peer netip.AddrPort) *Conn {
	c := &Conn{s: s, id: id, peer: peer, from: share.From(nc.RemoteAddr()), net: nc, done: make(chan struct{}),
		wake: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.out.init(nc, s.cfg.OutputMax, s.now)
	c.out.total = &s.unread
	c.in = newIntake(nc, &s.large, c.from, c.await)
	now := s.now()
	c.last.Store(now)
	c.called.Store(now)
	c.deadline.Store(now + int64(s.cfg.HandshakeTimeout))
	return c
}

// run serves a connection. The end of its context closes it.
func (c *Conn) run() {
	context.AfterFunc(c.ctx, func() {
		c.out.stop(net.ErrClosed)
		_ = c.net.Close()
	})
	if err := c.greet(); err != nil {
		c.end(err)
		return
	}
	c.read()
}

// read handles frames until the connection ends, or until another goroutine continues to read
// (Detach).
func (c *Conn) read() {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(p)
			c.end(errPanic)
		}
	}()
	for {
		frame, err := c.next()
		if err != nil {
			c.end(err)
			return
		}
		over, err := c.handle(frame)
		if err != nil {
			c.end(err)
			return
		}
		if over {
			return
		}
	}
}

// next returns the next frame. Before it blocks, it flushes the replies that were held back to be
// sent together.
func (c *Conn) next() ([]byte, error) {
	if c.s.closing.Load() {
		return nil, errShutdown
	}
	if c.reason.Load() != nil {
		return nil, errRefused
	}
	if c.corked && !c.in.buffered() {
		c.corked = false
		c.out.flush()
	}
	return c.in.next(c.frameMax())
}

// frameMax returns the most bytes of a frame.
func (c *Conn) frameMax() int {
	if c.caller == nil {
		return c.s.cfg.HandshakeFrameMax
	}
	return c.s.cfg.FrameMax
}

// handOver starts another goroutine that continues to read.
func (c *Conn) handOver(keepsFrame bool) {
	if keepsFrame {
		c.in.leave()
	}
	if c.corked {
		c.corked = false
		c.out.flush()
	}
	c.s.wg.Go(c.read)
}

// await sets the deadline for the rest of a frame.
func (c *Conn) await() {
	if c.served {
		c.deadline.Store(c.s.now() + int64(c.s.cfg.FrameTimeout))
	}
}

// panicked logs a panic of a function of Config and ends the connection, because its state is
// unknown.
func (c *Conn) panicked(p any) {
	c.s.log.Error("connection ends by a panic", "address", c.peer, "panic", p, "stack", string(debug.Stack()))
	c.fail(endPanic)
}

// retire ends the connection after a handler's FATAL reply. No more frames are read, and the reply
// gets time to arrive.
func (c *Conn) retire() {
	reason := endRefused
	if c.reason.CompareAndSwap(nil, &reason) {
		c.stopReading()
	}
}

// expire applies the timeouts of the connection.
func (c *Conn) expire(now int64) {
	cfg := &c.s.cfg
	since, deadline := c.out.since.Load(), c.deadline.Load()
	switch {
	case since != 0 && now-since > int64(cfg.WriteTimeout):
		c.fail(endUnread)
	case deadline != 0 && now > deadline:
		c.fail(endSlow)
	case c.inflight.Load() == 0 && now-c.called.Load() > int64(cfg.IdleTimeout):
		c.fail(endIdle)
	}
}

// fail ends the connection at once. Any goroutine may call it.
func (c *Conn) fail(reason string) {
	c.reason.CompareAndSwap(nil, &reason)
	c.cancel()
}

// stopReading makes the reader stop.
func (c *Conn) stopReading() { _ = c.net.SetReadDeadline(time.Unix(1, 0)) }

var (
	errShutdown = errors.New("server is closing")
	errRefused  = errors.New("connection was refused")
	errPanic    = errors.New("panic")
)

// end ends the connection on the reading goroutine.
func (c *Conn) end(err error) {
	reason := endPeer
	if r := c.reason.Load(); r != nil && *r == endRefused {
		err = errRefused
	}
	switch {
	case c.s.closing.Load():
		reason = endShutdown
		c.drain()
	case errors.Is(err, errRefused):
		reason = endRefused
		c.linger()
	case errors.Is(err, ErrTooLarge) || errors.Is(err, ErrFrame):
		reason = endProtocol
	}
	c.in.close()
	c.fail(reason)
	reason = *c.reason.Load()
	c.s.log.Debug("connection ended", "address", c.peer, "reason", reason, "error", err)
	c.s.forget(c, reason)
	close(c.done)
}

// drain waits for the calls in flight and for their replies to be sent.
func (c *Conn) drain() {
	c.draining.Store(true)
	for c.inflight.Load() > 0 {
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return
		}
	}
	c.out.drain()
}

// Limits of reading after a FATAL reply.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// linger waits until the last reply has arrived. If a socket with unread bytes is closed, the
// kernel discards what the peer has not read yet.
func (c *Conn) linger() {
	c.out.drain()
	half, ok := c.net.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.in.close()
	c.deadline.Store(0)
	if c.net.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	buf := readBuffers.Get().(*[readSize]byte)
	defer readBuffers.Put(buf)
	for n := 0; n < lingerBytes; {
		k, err := c.net.Read(buf[:])
		if n += k; err != nil {
			return
		}
	}
}
