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

// StreamLayer carries Raft's own protocol over the replicas' port. It dials for raft's transport;
// what is accepted goes to Transport.serve, since there the caller is known.
type StreamLayer struct {
	s     *Server
	conns chan raftConn
	done  chan struct{}
	once  sync.Once
}

var _ raft.StreamLayer = (*StreamLayer)(nil)

// raftConn is an accepted raft connection and who called.
type raftConn struct {
	net.Conn
	server string
}

func newStreamLayer(s *Server) *StreamLayer {
	return &StreamLayer{s: s, conns: make(chan raftConn, 16), done: make(chan struct{})}
}

// deliver hands an accepted connection to the transport.
func (l *StreamLayer) deliver(c net.Conn, server string) {
	select {
	case l.conns <- raftConn{c, server}:
	case <-l.done:
		_ = c.Close()
	}
}

// Accept waits for the end: accepted connections go to Transport.serve.
func (l *StreamLayer) Accept() (net.Conn, error) {
	<-l.done
	return nil, net.ErrClosed
}

// Close ends Accept; the port itself belongs to the server.
func (l *StreamLayer) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is the advertised address, which is how raft knows this replica.
func (l *StreamLayer) Addr() net.Addr { return textAddr(l.s.addr) }

// Dial opens a raft connection.
func (l *StreamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx := l.s.ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	c, _, err := l.s.dial(ctx, string(address), KindRaft)
	return c, err
}

// textAddr is an address that need not be resolved.
type textAddr string

// Network is always tcp.
func (textAddr) Network() string { return "tcp" }

// String is host:port.
func (a textAddr) String() string { return string(a) }

// Transport is the library's network transport with its heartbeat fast path taken out, and with
// each request bound to the replica that sent it.
//
// No heartbeat handler is kept: see cluster/rafttransport/raft695_heartbeat.go.
//
// The library believes the name in a request's header. So each accepted connection is read by a
// transport of its own, and a request that does not name the replica at the other end is refused.
type Transport struct {
	*raft.NetworkTransport
	requests chan raft.RPC
	timeout  time.Duration
	logger   hclog.Logger
	done     chan struct{}
	once     sync.Once
	wg       sync.WaitGroup
}

// rpcsInFlight is raft's pipeline depth; more only adds latency (hashicorp/raft #541).
const rpcsInFlight = 2

// Transport makes Raft's transport over this server. There may be one at a time.
func (s *Server) Transport(timeout time.Duration, logger hclog.Logger) raft.Transport {
	t := &Transport{requests: make(chan raft.RPC), timeout: timeout, logger: logger, done: make(chan struct{})}
	t.NetworkTransport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: s.stream, MaxPool: 3, MaxRPCsInFlight: rpcsInFlight, Timeout: timeout, Logger: logger,
	})
	t.wg.Go(func() { t.accept(s.stream) })
	return t
}

// SetHeartbeatHandler keeps nothing.
func (*Transport) SetHeartbeatHandler(func(raft.RPC)) {}

// Consumer is where raft reads requests.
func (t *Transport) Consumer() <-chan raft.RPC { return t.requests }

// Close ends the transport and waits for its goroutines.
func (t *Transport) Close() error {
	t.once.Do(func() { close(t.done) })
	err := t.NetworkTransport.Close()
	t.wg.Wait()
	return err
}

// accept serves connections until the end.
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

// errNotCaller is the answer to a request in another's name.
var errNotCaller = errors.New("NOT_CALLER: the request does not name the replica that sends it")

// serve passes on the requests of one connection.
func (t *Transport) serve(c raftConn) {
	layer := &oneConn{conn: c, ended: make(chan struct{}), closed: make(chan struct{})}
	in := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{Stream: layer, Timeout: t.timeout, Logger: t.logger})
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

// oneConn is a listener that has one connection.
type oneConn struct {
	conn          net.Conn
	given         bool
	ended, closed chan struct{} // of the connection, and of the listener
	once, end     sync.Once
}

// Accept returns the connection once, and then waits for Close.
func (l *oneConn) Accept() (net.Conn, error) {
	if !l.given { // the library accepts in one goroutine
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

// Addr is the connection's.
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

// Dial is never called.
func (l *oneConn) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	return nil, net.ErrClosed
}

// watchedConn tells its listener when it is closed.
type watchedConn struct {
	net.Conn
	l *oneConn
}

// Close closes the connection and says so.
func (c watchedConn) Close() error {
	err := c.Conn.Close()
	c.l.end.Do(func() { close(c.l.ended) })
	return err
}
