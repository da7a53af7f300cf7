package peer

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// StreamLayer carries Raft's own protocol over the replicas' port.
type StreamLayer struct {
	s     *Server
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

var _ raft.StreamLayer = (*StreamLayer)(nil)

func newStreamLayer(s *Server) *StreamLayer {
	return &StreamLayer{s: s, conns: make(chan net.Conn, 16), done: make(chan struct{})}
}

// StreamLayer returns the layer for raft's transport. There is one per server.
func (s *Server) StreamLayer() raft.StreamLayer { return s.stream }

// deliver hands an accepted connection to Accept.
func (l *StreamLayer) deliver(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		_ = c.Close()
	}
}

// Accept waits for the next raft connection.
func (l *StreamLayer) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
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

// Transport is the library's network transport with its heartbeat fast path taken out.
//
// The library handles a heartbeat that takes the fast path on the connection's goroutine, beside the
// main loop. It may raise the term between winning an election and acting as leader, which gives two
// leaders of one term and diverging logs (hashicorp/raft #695, open in v1.8.0). Without a handler
// heartbeats queue for the main loop like everything else.
type Transport struct{ *raft.NetworkTransport }

// rpcsInFlight is raft's pipeline depth; more only adds latency (hashicorp/raft #541).
const rpcsInFlight = 2

// NewTransport makes Raft's transport over a stream layer.
func NewTransport(layer raft.StreamLayer, timeout time.Duration, logger hclog.Logger) *Transport {
	return &Transport{raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: layer, MaxPool: 3, MaxRPCsInFlight: rpcsInFlight, Timeout: timeout, Logger: logger,
	})}
}

// Transport makes Raft's transport over this server. There may be one at a time.
func (s *Server) Transport(timeout time.Duration, logger hclog.Logger) raft.Transport {
	return NewTransport(s.stream, timeout, logger)
}

// SetHeartbeatHandler keeps nothing.
func (*Transport) SetHeartbeatHandler(func(raft.RPC)) {}
