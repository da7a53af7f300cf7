package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Limits of a connection of a replica that is not a member.
const (
	strangerCalls    = 16       // in flight
	strangerFrameMax = 64 << 10 // bytes
)

// rpcConn is the answering side of one connection. One goroutine reads, one writes, and each call
// has its own. When InFlightMax calls run, or wait because the caller does not read replies,
// reading stops until one ends.
type rpcConn struct {
	s       *Server
	from    string
	member  bool // whether from is a member; only the reading goroutine uses it
	out     chan frame
	ctx     context.Context
	slots   chan struct{}
	strange chan struct{} // like slots, for the calls of a replica that is not a member
	wg      sync.WaitGroup

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
}

// serveRPC answers calls until the connection ends.
func (s *Server) serveRPC(conn net.Conn, from Identity) {
	ctx, cancel := context.WithCancel(s.ctx)
	c := &rpcConn{s: s, from: from.ServerID(), out: make(chan frame, 64), ctx: ctx,
		slots: make(chan struct{}, s.cfg.InFlightMax), strange: make(chan struct{}, strangerCalls),
		cancels: map[uint64]context.CancelFunc{}}
	c.wg.Go(func() {
		c.write(conn)
		cancel()
		_ = conn.Close()
	})
	if err := c.read(bufio.NewReaderSize(conn, 64<<10)); err != nil && s.ctx.Err() == nil {
		s.cfg.Logger.Trace("rpc connection ended", "from", c.from, "error", err)
	}
	cancel()
	_ = conn.Close()
	c.wg.Wait()
}

// read reads frames in order and starts their handlers.
func (c *rpcConn) read(r *bufio.Reader) error {
	for {
		f, err := readFrame(r, c.frameMax)
		if err != nil {
			return err
		}
		switch f.kind {
		case frameCancel:
			c.mu.Lock()
			if cancel := c.cancels[f.id]; cancel != nil {
				cancel()
			}
			c.mu.Unlock()
		case frameRequest:
			slots := c.slots
			if !c.isMember() {
				slots = c.strange
			}
			select {
			case slots <- struct{}{}:
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
			c.start(f, slots)
		default:
			return fmt.Errorf("kind %d from the calling side: %w", f.kind, ErrFrame)
		}
	}
}

// isMember reports whether the other end is a member. It may become one during the connection. If
// it is removed, Recheck closes the connection.
func (c *rpcConn) isMember() bool {
	if !c.member {
		rules, _ := c.s.rules()
		c.member = !rules.isStranger(c.from)
	}
	return c.member
}

// frameMax returns the limit of the next frame's payload, in bytes.
func (c *rpcConn) frameMax() int {
	if c.isMember() {
		return c.s.cfg.FrameMax
	}
	return min(strangerFrameMax, c.s.cfg.FrameMax)
}

// start runs one handler in a goroutine. It frees the call's slot when the writer has the reply. So
// a peer that does not read replies soon cannot make more calls.
func (c *rpcConn) start(f frame, slots chan struct{}) {
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	c.cancels[f.id] = cancel
	c.mu.Unlock()
	c.wg.Go(func() {
		reply := c.run(ctx, f)
		c.mu.Lock()
		delete(c.cancels, f.id)
		c.mu.Unlock()
		cancel()
		select {
		case c.out <- reply:
		case <-c.ctx.Done():
		}
		<-slots
	})
}

// run calls the handler and returns the reply frame.
func (c *rpcConn) run(ctx context.Context, f frame) frame {
	c.s.mu.Lock()
	h, may := c.s.handlers[f.method], c.s.gate.authorizeCall
	c.s.mu.Unlock()
	failed := func(code, text string) frame {
		return frame{kind: frameError, id: f.id, payload: encodeError(code, text)}
	}
	if h == nil {
		return failed("NO_METHOD", fmt.Sprintf("method %d is not served here", f.method))
	}
	var out []byte
	var err error
	if may != nil {
		err = may(f.method, c.from)
	}
	if err == nil {
		out, err = h(ctx, c.from, f.payload)
	}
	if err != nil {
		var code string
		var ce coder
		if errors.As(err, &ce) {
			code = ce.ErrorCode()
		}
		return failed(code, err.Error())
	}
	if len(out) > c.s.cfg.FrameMax {
		return failed("TOO_LARGE", fmt.Sprintf("reply of %d bytes", len(out)))
	}
	return frame{kind: frameReply, id: f.id, payload: out}
}

// write is the writer goroutine. It flushes when no more frames wait.
func (c *rpcConn) write(conn net.Conn) {
	w := bufio.NewWriterSize(conn, 64<<10)
	for {
		select {
		case f := <-c.out:
			err := writeFrame(w, f)
			if err == nil && idle(c.out) {
				err = w.Flush()
			}
			if err != nil {
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}
