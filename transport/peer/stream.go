package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// StreamLayer carries Raft's protocol over the replicas' port. It dials for Raft's transport.
// Accepted connections go to Transport.serve, because there the caller is known.
type StreamLayer struct {
	s     *Server
	conns chan raftConn
	done  chan struct{}
	once  sync.Once

	mu     sync.Mutex
	ctx    context.Context // of all dialed connections; interrupt replaces it
	cancel context.CancelFunc
}

var _ raft.StreamLayer = (*StreamLayer)(nil)

// raftConn is an accepted Raft connection with the replica that dialed it.
type raftConn struct {
	net.Conn
	server string
}

func newStreamLayer(s *Server) *StreamLayer {
	l := &StreamLayer{s: s, conns: make(chan raftConn, 16), done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(s.ctx)
	return l
}

// interrupt closes all connections that were dialed, and ends dials in progress.
func (l *StreamLayer) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.ctx, l.cancel = context.WithCancel(l.s.ctx)
}

// dialContext returns the context of the connections that are dialed now.
func (l *StreamLayer) dialContext() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// deliver passes an accepted connection to the transport.
func (l *StreamLayer) deliver(c net.Conn, server string) {
	select {
	case l.conns <- raftConn{c, server}:
	case <-l.done:
		_ = c.Close()
	}
}

// Accept only waits for Close, because accepted connections go to Transport.serve.
func (l *StreamLayer) Accept() (net.Conn, error) {
	<-l.done
	return nil, net.ErrClosed
}

// Close ends Accept. The port belongs to the server.
func (l *StreamLayer) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns the advertised address, which is this replica's address in Raft.
func (l *StreamLayer) Addr() net.Addr { return textAddr(l.s.addr) }

// Dial opens a Raft connection.
func (l *StreamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	all := l.dialContext()
	ctx := all
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	c, _, err := l.s.dial(ctx, string(address), KindRaft)
	if err != nil {
		return nil, err
	}
	return &dialedConn{Conn: c, forget: context.AfterFunc(all, func() { _ = c.Close() })}, nil
}

// dialedConn is a connection that interrupt closes.
type dialedConn struct {
	net.Conn
	forget func() bool
}

// Close closes the connection.
func (c *dialedConn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// textAddr is an address in the form host:port.
type textAddr string

// Network returns "tcp".
func (textAddr) Network() string { return "tcp" }

// String returns host:port.
func (a textAddr) String() string { return string(a) }

// Transport is the network transport of hashicorp/raft with two changes. It has no heartbeat
// handler (cluster/rafttransport/raft695_heartbeat.go). And it accepts a request only from the
// replica that the request names.
//
// hashicorp/raft trusts the id in a request's header. Therefore each accepted connection is read by
// its own transport, and a request that does not name the replica at the other end is refused.
type Transport struct {
	*raft.NetworkTransport
	out      *StreamLayer
	requests chan raft.RPC
	timeout  time.Duration
	logger   hclog.Logger
	done     chan struct{}
	once     sync.Once
	wg       sync.WaitGroup
}

// rpcsInFlight is the pipeline depth of Raft. A larger one only adds latency (hashicorp/raft #541).
const rpcsInFlight = 2

// Transport returns Raft's transport over this server. There may be only one at a time.
func (s *Server) Transport(timeout time.Duration, logger hclog.Logger) raft.Transport {
	done := make(chan struct{})
	t := &Transport{out: s.stream, requests: make(chan raft.RPC), timeout: timeout, done: done,
		logger: untilClosed{logger, done}}
	t.NetworkTransport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: s.stream, MaxPool: 3, MaxRPCsInFlight: rpcsInFlight, Timeout: timeout, Logger: t.logger,
	})
	t.wg.Go(func() { t.accept(s.stream) })
	return t
}

// untilClosed is the logger for the library. It has errors at debug level once the transport is being
// closed: the library takes the end of each of its connections for one.
type untilClosed struct {
	hclog.Logger
	done <-chan struct{}
}

// Error implements hclog.Logger.
func (l untilClosed) Error(msg string, args ...any) {
	select {
	case <-l.done:
		l.Debug(msg, args...)
	default:
		l.Logger.Error(msg, args...)
	}
}

// SetHeartbeatHandler ignores the handler.
func (*Transport) SetHeartbeatHandler(func(raft.RPC)) {}

// Consumer returns the channel from which Raft reads requests.
func (t *Transport) Consumer() <-chan raft.RPC { return t.requests }

// Interrupt ends all calls to other replicas that are in progress, with an error. Later calls dial
// again.
func (t *Transport) Interrupt() { t.out.interrupt() }

// Close ends the transport and waits for its goroutines.
func (t *Transport) Close() error {
	t.once.Do(func() { close(t.done) })
	err := t.NetworkTransport.Close()
	t.wg.Wait()
	return err
}

// accept serves connections until the stream layer or the transport is closed.
func (t *Transport) accept(l *StreamLayer) {
	for {
		select {
		case c := <-l.conns:
			t.wg.Go(func() { t.serve(c) })
		case <-l.done:
			return
		case <-t.done:
			return
		}
	}
}

// errNotCaller is the answer to a request that names another replica than the caller.
var errNotCaller = errors.New("NOT_CALLER: the request does not name the replica that sends it")

// serve forwards the requests of one connection to Raft.
func (t *Transport) serve(c raftConn) {
	layer := &oneConn{conn: c, ended: make(chan struct{}), closed: make(chan struct{})}
	in := raft.NewNetworkTransportWithConfig(
		&raft.NetworkTransportConfig{Stream: layer, Timeout: t.timeout, Logger: t.logger})
	defer func() {
		_ = c.Close()
		_ = in.Close()
	}()
	for {
		select {
		case rpc := <-in.Consumer():
			if h, ok := rpc.Command.(raft.WithRPCHeader); !ok || string(h.GetRPCHeader().ID) != c.server {
				if rpc.Reader != nil {
					_, _ = io.Copy(io.Discard, rpc.Reader)
				}
				rpc.Respond(nil, errNotCaller)
				continue
			}
			select {
			case t.requests <- rpc:
			case <-t.done:
				return
			}
		case <-layer.ended:
			return
		case <-t.done:
			return
		}
	}
}

// oneConn is a stream layer with one accepted connection.
type oneConn struct {
	conn          net.Conn
	given         bool
	ended, closed chan struct{} // closed at the end of the connection, and of the listener
	once, end     sync.Once
}

// Accept returns the connection once, and then waits for Close.
func (l *oneConn) Accept() (net.Conn, error) {
	if !l.given { // the transport calls Accept in one goroutine
		l.given = true
		return watchedConn{l.conn, l}, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Close ends Accept.
func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the local address of the connection.
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

// Dial always fails. It is never called.
func (l *oneConn) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	return nil, net.ErrClosed
}

// watchedConn closes oneConn.ended when it is closed.
type watchedConn struct {
	net.Conn
	l *oneConn
}

// Close closes the connection and oneConn.ended.
func (c watchedConn) Close() error {
	err := c.Conn.Close()
	c.l.end.Do(func() { close(c.l.ended) })
	return err
}
