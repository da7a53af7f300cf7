package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// rpcConn is the answering side of one connection. One goroutine reads, one writes, and each call
// has its own. When InFlightMax calls run, reading stops until one ends.
type rpcConn struct {
	s     *Server
	from  string
	out   chan frame
	ctx   context.Context
	slots chan struct{}
	wg    sync.WaitGroup

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
}

// serveRPC answers calls until the connection ends.
func (s *Server) serveRPC(conn net.Conn, from Identity) {
	ctx, cancel := context.WithCancel(s.ctx)
	c := &rpcConn{s: s, from: from.ServerID(), out: make(chan frame, 64), ctx: ctx, slots: make(chan struct{}, s.cfg.InFlightMax), cancels: map[uint64]context.CancelFunc{}}
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
		f, err := readFrame(r, c.s.cfg.FrameMax)
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
			select {
			case c.slots <- struct{}{}:
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
			c.start(f)
		default:
			return fmt.Errorf("kind %d from the calling side: %w", f.kind, ErrFrame)
		}
	}
}

// start runs one handler.
func (c *rpcConn) start(f frame) {
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
		<-c.slots
		select {
		case c.out <- reply:
		case <-c.ctx.Done():
		}
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
