package ipc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// ClientConn is one connection to a server. Many goroutines may make calls on it.
type ClientConn struct {
	cl      *Client
	net     net.Conn
	out     outbox
	in      intake
	large   budget
	key     identity
	shared  bool
	address string
	// protocol and version are those of the target.
	protocol string
	version  uint64

	done  chan struct{}
	slots chan struct{}
	last  atomic.Int64 // time of the last frame sent or received

	mu      sync.Mutex
	err     error
	nextID  int32
	pending map[int32]*pending
}

// pending is a call that waits for its reply.
type pending struct {
	deadline int64
	done     func(body []byte, err error)
}

func newClientConn(cl *Client, nc net.Conn, to Target, shared bool) *ClientConn {
	cc := &ClientConn{
		cl: cl, net: nc, key: to.identity(), shared: shared, address: to.Address,
		protocol: to.Protocol, version: max(to.Version, 1),
		large: budget{max: 8 * int64(cl.cfg.FrameMax), each: 8 * int64(cl.cfg.FrameMax)},
		done:  make(chan struct{}), slots: make(chan struct{}, cl.cfg.CallsPerConnMax),
		pending: map[int32]*pending{},
	}
	cc.out.init(nc, cl.cfg.OutputMax, cl.now)
	cc.in = newIntake(nc, &cc.large, netip.Prefix{}, nil)
	cc.last.Store(cl.now())
	return cc
}

// Done returns a channel that is closed when the connection has ended.
func (cc *ClientConn) Done() <-chan struct{} { return cc.done }

// Err returns the reason why the connection has ended, or nil.
func (cc *ClientConn) Err() error {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return cc.err
}

// Close closes the connection. Calls in flight fail. A function given to Go must not call Close.
func (cc *ClientConn) Close() error {
	cc.fail(ErrClosed)
	<-cc.done
	return nil
}

// Call makes one call of the target's protocol and waits for its reply.
func (cc *ClientConn) Call(ctx context.Context, method string, req, reply proto.Message) error {
	return cc.CallProtocol(ctx, cc.protocol, cc.version, method, req, reply)
}

// CallProtocol makes one call of any protocol over the connection.
func (cc *ClientConn) CallProtocol(ctx context.Context, protocol string, version uint64, method string, req,
	reply proto.Message) error {
	result := make(chan error, 1)
	id, err := cc.send(ctx, protocol, max(version, 1), method, func(b []byte) ([]byte, error) {
		return appendDelimited(b, req)
	}, func(body []byte, err error) {
		if err == nil {
			err = readReply(body, reply)
		}
		result <- err
	})
	if err != nil {
		return err
	}
	select {
	case err = <-result:
	case <-ctx.Done():
		if !cc.cancel(id) {
			return <-result // the reply is being read
		}
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	}
	return err
}

// Go makes one call of the target's protocol with an encoded request. It calls done with the
// encoded reply, on the goroutine that reads the connection. done must not block or keep the bytes.
// Go blocks while too many calls are in flight. If Go returns an error, done is not called.
func (cc *ClientConn) Go(ctx context.Context, method string, req []byte, done func(reply []byte, err error)) error {
	_, err := cc.send(ctx, cc.protocol, cc.version, method, func(b []byte) ([]byte, error) {
		return protowire.AppendBytes(b, req), nil
	}, done)
	return err
}

// send writes one request.
func (cc *ClientConn) send(ctx context.Context, protocol string, version uint64, method string,
	body func([]byte) ([]byte, error), done func([]byte, error)) (int32, error) {
	select {
	case cc.slots <- struct{}{}:
	default:
		select {
		case cc.slots <- struct{}{}:
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", ErrNotSent, ctx.Err())
		case <-cc.done:
			return 0, fmt.Errorf("%w: %w", ErrNotSent, cc.Err())
		}
	}
	p := &pending{deadline: cc.cl.now() + int64(cc.cl.cfg.CallTimeout), done: done}
	id, err := cc.enter(p)
	if err != nil {
		<-cc.slots
		return 0, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	out, err := cc.out.begin()
	if err == nil {
		var b []byte
		b, err = appendRequest(out.b, id, cc.cl.id, protocol, version, method, body)
		if err == nil {
			out.b = b
		}
		cc.out.finish(true, true)
	}
	if err != nil && cc.cancel(id) {
		return 0, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	// If the call is no longer in the table, the goroutine that removed it has called done.
	return id, nil
}

// appendRequest appends the frame of one call. On an error it returns b unchanged.
func appendRequest(b []byte, id int32, client, protocol string, version uint64, method string,
	body func([]byte) ([]byte, error)) ([]byte, error) {
	from := len(b)
	out := append(b, 0, 0, 0, 0)
	out = appendRequestHeader(out, id, client, 0)
	out = appendMethodHeader(out, method, protocol, version)
	out, err := body(out)
	if err != nil {
		return b, err
	}
	binary.BigEndian.PutUint32(out[from:], uint32(len(out)-from-4))
	return out, nil
}

// appendDelimited appends a message after its length.
func appendDelimited(b []byte, m proto.Message) ([]byte, error) {
	var opts proto.MarshalOptions
	b = protowire.AppendVarint(b, uint64(opts.Size(m)))
	opts.UseCachedSize = true
	return opts.MarshalAppend(b, m)
}

// enter assigns an id to a call and adds it to the table.
func (cc *ClientConn) enter(p *pending) (int32, error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil {
		return 0, cc.err
	}
	id := cc.nextID
	for cc.pending[id] != nil { // an old call, after the ids have wrapped around
		id = (id + 1) & 0x7fffffff
	}
	cc.nextID = (id + 1) & 0x7fffffff
	cc.pending[id] = p
	return id, nil
}

// leave removes a call from the table.
func (cc *ClientConn) leave(id int32) *pending {
	cc.mu.Lock()
	p := cc.pending[id]
	delete(cc.pending, id)
	cc.mu.Unlock()
	if p != nil {
		<-cc.slots
	}
	return p
}

// cancel removes a call. It returns false if the call's done was or will be called.
func (cc *ClientConn) cancel(id int32) bool { return cc.leave(id) != nil }

// claim prevents an idle shared connection from being closed. It returns false if the connection
// has ended.
func (cc *ClientConn) claim() bool {
	cc.last.Store(cc.cl.now())
	return cc.Err() == nil
}

// fail closes the connection. The reader then fails the calls.
func (cc *ClientConn) fail(err error) {
	cc.mu.Lock()
	if cc.err == nil {
		cc.err = err
	}
	cc.mu.Unlock()
	cc.out.stop(err)
	_ = cc.net.Close()
}

// expire applies the timeouts of the connection and of its calls.
func (cc *ClientConn) expire(now int64) {
	cfg := &cc.cl.cfg
	if since := cc.out.since.Load(); since != 0 && now-since > int64(cfg.WriteTimeout) {
		cc.fail(fmt.Errorf("the server does not read: %w", ErrTimeout))
		return
	}
	cc.mu.Lock()
	var late []int32
	for id, p := range cc.pending {
		if now > p.deadline {
			late = append(late, id)
		}
	}
	waiting := len(cc.pending) - len(late)
	quiet := now - cc.last.Load()
	idle := cc.shared && len(cc.pending) == 0 && quiet > int64(cfg.IdleTimeout)
	if idle && cc.err == nil {
		cc.err = fmt.Errorf("idle: %w", ErrClosed) // set under the lock, so that no call can be added
	}
	cc.mu.Unlock()
	for _, id := range late {
		if p := cc.leave(id); p != nil {
			p.done(nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ErrTimeout))
		}
	}
	switch {
	case idle:
		cc.fail(ErrClosed)
	case waiting > 0 && quiet > int64(cfg.PingInterval):
		cc.ping(now)
	}
}

// ping sends a ping. It does not wait for room in the outbox, because unsent bytes keep the
// connection alive as well.
func (cc *ClientConn) ping(now int64) {
	cc.last.Store(now)
	if cc.out.since.Load() != 0 {
		return
	}
	out, err := cc.out.begin()
	if err != nil {
		return
	}
	from := len(out.b)
	out.b = append(out.b, 0, 0, 0, 0)
	out.b = appendRequestHeader(out.b, idPing, cc.cl.id, noRetry)
	binary.BigEndian.PutUint32(out.b[from:], uint32(len(out.b)-from-4))
	cc.out.finish(true, false)
}

// read reads replies until the connection ends.
func (cc *ClientConn) read() {
	defer close(cc.done)
	var err error
	for err == nil {
		var frame []byte
		if frame, err = cc.in.next(cc.cl.cfg.FrameMax); err == nil {
			cc.last.Store(cc.cl.now())
			err = cc.handle(frame)
		}
	}
	cc.fail(err)
	cc.in.close()
	cc.cl.drop(cc)
	cc.mu.Lock()
	why, lost := cc.err, cc.pending
	cc.pending = map[int32]*pending{}
	cc.mu.Unlock()
	var remote *RemoteError
	if !errors.As(why, &remote) {
		why = fmt.Errorf("%w: %w", ErrOutcomeUnknown, why)
	}
	for _, p := range lost {
		<-cc.slots
		p.done(nil, why)
	}
}

// handle processes one reply. An error ends the connection.
func (cc *ClientConn) handle(frame []byte) error {
	head, rest, err := cut(frame)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFrame, err)
	}
	var h replyHeader
	if err := h.read(head); err != nil {
		return fmt.Errorf("%w: %w", ErrFrame, err)
	}
	if len(h.client) > 0 && string(h.client) != cc.cl.id {
		return fmt.Errorf("%w: a reply to another client", ErrFrame)
	}
	switch h.status {
	case statusFatal:
		return h.remote()
	case statusError:
		if p := cc.leave(h.call); p != nil {
			p.done(nil, h.remote())
		}
		return nil
	}
	body, _, err := cut(rest)
	if err != nil {
		return fmt.Errorf("%w: reply: %w", ErrFrame, err)
	}
	if p := cc.leave(h.call); p != nil {
		p.done(body, nil)
	}
	return nil
}
