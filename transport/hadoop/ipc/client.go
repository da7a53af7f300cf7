package ipc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
)

// Client calls servers. Calls to the same address with the same credentials share a connection. It
// is opened when it is needed and closed when it is idle.
type Client struct {
	cfg   ClientConfig
	id    string // the client id of every call
	epoch time.Time

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	shared map[identity]*slot
	conns  map[*ClientConn]struct{}
}

// slot has one shared connection.
type slot struct {
	conn    *ClientConn
	dialing *dialing
}

// dialing is a dial for which several calls may wait.
type dialing struct {
	done chan struct{}
	conn *ClientConn
	err  error
}

// OpenClient returns a Client. The caller must call Close.
func OpenClient(cfg ClientConfig) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("ipc client: %w", err)
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // crypto/rand never fails
	cl := &Client{cfg: cfg, id: string(id[:]), epoch: time.Now(), shared: map[identity]*slot{},
		conns: map[*ClientConn]struct{}{}}
	cl.ctx, cl.cancel = context.WithCancel(context.Background())
	cl.wg.Go(cl.sweep)
	return cl, nil
}

// Call makes one call over the shared connection to the target. If the server refuses, the error is
// a *RemoteError. Otherwise it Is ErrNotConnected or ErrNotSent if the server has not seen the
// call, and ErrOutcomeUnknown if it may have.
func (cl *Client) Call(ctx context.Context, to Target, method string, req, reply proto.Message) error {
	for again := true; ; again = false {
		cc, err := cl.get(ctx, to)
		if err != nil {
			return err
		}
		err = cc.CallProtocol(ctx, to.Protocol, to.Version, method, req, reply)
		if !again || !errors.Is(err, ErrNotSent) || cc.Err() == nil {
			return err
		}
		// The connection ended before the call was sent. Try once more with a new one.
	}
}

// get returns the shared connection. Calls that wait at the same time share one dial.
func (cl *Client) get(ctx context.Context, to Target) (*ClientConn, error) {
	if err := to.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotConnected, err)
	}
	key := to.identity()
	cl.mu.Lock()
	s := cl.shared[key]
	if s == nil {
		s = &slot{}
		cl.shared[key] = s
	}
	if s.conn != nil && s.conn.claim() {
		defer cl.mu.Unlock()
		return s.conn, nil
	}
	d := s.dialing
	if d == nil {
		if cl.closed {
			cl.mu.Unlock()
			return nil, fmt.Errorf("%w: %w", ErrNotConnected, ErrClosed)
		}
		d = &dialing{done: make(chan struct{})}
		s.dialing = d
		cl.wg.Go(func() { cl.dial(key, s, d, to) })
	}
	cl.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrNotConnected, ctx.Err())
	}
}

// dial does not use the contexts of the waiting calls, so that the end of one call does not end the
// dial for others.
func (cl *Client) dial(key identity, s *slot, d *dialing, to Target) {
	d.conn, d.err = cl.connect(cl.ctx, to, true)
	cl.mu.Lock()
	s.dialing, s.conn = nil, d.conn
	if d.err != nil && cl.shared[key] == s {
		delete(cl.shared, key)
	}
	cl.mu.Unlock()
	close(d.done)
}

// Connect opens a connection that is not shared. The caller must close it.
func (cl *Client) Connect(ctx context.Context, to Target) (*ClientConn, error) {
	if err := to.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotConnected, err)
	}
	return cl.connect(ctx, to, false)
}

// connect dials, performs the handshake and starts the reader.
func (cl *Client) connect(ctx context.Context, to Target, shared bool) (*ClientConn, error) {
	ctx, cancel := context.WithTimeout(ctx, cl.cfg.ConnectTimeout)
	defer cancel()
	nc, err := cl.cfg.Dial(ctx, "tcp", to.Address)
	if err != nil {
		return nil, fmt.Errorf("%w to %s: %w", ErrNotConnected, to.Address, err)
	}
	cc := newClientConn(cl, nc, to, shared)
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	err = cc.shakeHands(to)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil && !cl.enlist(cc) {
		err = ErrClosed
	}
	if err != nil {
		_ = nc.Close()
		if ctx.Err() != nil && !errors.As(err, new(*RemoteError)) {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("%w to %s: %w", ErrNotConnected, to.Address, err)
	}
	return cc, nil
}

// enlist registers a connection and starts its reader. It returns false after Close.
func (cl *Client) enlist(cc *ClientConn) bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.closed {
		return false
	}
	cc.last.Store(cl.now()) // it was not idle while it shook hands
	cl.conns[cc] = struct{}{}
	cl.wg.Go(cc.read)
	return true
}

// drop removes a connection that has ended.
func (cl *Client) drop(cc *ClientConn) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	delete(cl.conns, cc)
	if s := cl.shared[cc.key]; cc.shared && s != nil && s.conn == cc {
		delete(cl.shared, cc.key)
	}
}

// Close closes all connections. Calls in flight fail.
func (cl *Client) Close() error {
	cl.mu.Lock()
	cl.closed = true
	cl.mu.Unlock()
	cl.cancel()
	for _, cc := range cl.open() {
		cc.fail(ErrClosed)
	}
	cl.wg.Wait()
	return nil
}

func (cl *Client) open() []*ClientConn {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	out := make([]*ClientConn, 0, len(cl.conns))
	for cc := range cl.conns {
		out = append(out, cc)
	}
	return out
}

// now returns the nanoseconds since the client was opened, plus 1, so that it is never 0.
func (cl *Client) now() int64 { return int64(time.Since(cl.epoch)) + 1 }

// sweep handles timeouts and pings. One timer serves all connections.
func (cl *Client) sweep() {
	c := cl.cfg
	every := min(c.CallTimeout/2, c.PingInterval, c.IdleTimeout, c.WriteTimeout) / 4
	tick := time.NewTicker(min(max(every, 5*time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			now := cl.now()
			for _, cc := range cl.open() {
				cc.expire(now)
			}
		case <-cl.ctx.Done():
			return
		}
	}
}
