package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/share"
)

// Server serves one port.
type Server struct {
	cfg      Config
	log      hclog.Logger
	listener net.Listener
	services map[string]*service
	epoch    time.Time
	large    budget
	requests *turns       // memory of large requests that are being served, in bytes
	building *turns       // calls that make a large reply
	unread   atomic.Int64 // bytes of replies that wait to be sent

	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup // accept, sweep and connections
	workers sync.WaitGroup
	jobs    chan *Call
	idle    atomic.Int64  // workers that wait for a job
	slots   chan struct{} // one is taken by each call in flight
	closing atomic.Bool
	once    sync.Once

	mu       sync.Mutex
	conns    map[*Conn]struct{}
	count    share.Count
	barren   int64 // until this time there is no idle connection to be found
	lastID   uint64
	accepted atomic.Uint64
	refused  atomic.Uint64
}

// Stats are the counters of a server.
type Stats struct {
	// Connections and Calls are the present numbers.
	Connections, Calls int
	// Accepted and Refused are the numbers of connections since the start. Refused ones exceeded
	// the limits.
	Accepted, Refused uint64
}

// Open opens the port and serves until Close.
func Open(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("ipc port %s: %w", cfg.Name, err)
	}
	services, err := register(cfg.Protocols)
	if err != nil {
		return nil, err
	}
	l := cfg.Listener
	if l == nil {
		if l, err = net.Listen("tcp", cfg.Listen); err != nil {
			return nil, fmt.Errorf("ipc port %s: %w", cfg.Name, err)
		}
	}
	s := &Server{
		cfg:      cfg,
		log:      cfg.Logger.With("port", cfg.Name),
		listener: l,
		services: services,
		epoch:    time.Now(),
		large: budget{max: int64(cfg.LargeFramesMax),
			each: int64(max(cfg.LargeFramesMax/2, 2*cfg.FrameMax, 2*cfg.HandshakeFrameMax))},
		requests: newTurns(int64(cfg.LargeRequestsMax), int64(cfg.FrameMax), cfg.Auth),
		building: newTurns(int64(cfg.LargeRepliesMax), 1, cfg.Auth),
		jobs:     make(chan *Call),
		slots:    make(chan struct{}, cfg.CallsMax),
		conns:    map[*Conn]struct{}{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if l, ok := l.(interface{ OnFull(func(net.Conn) bool) }); ok {
		l.OnFull(s.makeRoom)
	}
	s.wg.Go(s.accept)
	s.wg.Go(s.sweep)
	return s, nil
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Stats returns the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Connections: len(s.conns), Calls: len(s.slots), Accepted: s.accepted.Load(), Refused: s.refused.Load()}
}

// Close stops accepting and reading. It waits up to Config.CloseGrace for calls in flight and their
// replies, and then closes all connections. It returns when every goroutine has ended, so a handler
// that ignores its context delays it.
func (s *Server) Close() error {
	var err error
	s.once.Do(func() {
		s.closing.Store(true)
		err = s.listener.Close()
		for _, c := range s.open() {
			c.stopReading()
		}
		timer := time.AfterFunc(s.cfg.CloseGrace, s.cancel)
		s.waitForConns()
		timer.Stop()
		s.cancel()
		s.wg.Wait()
		s.workers.Wait()
	})
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// waitForConns waits until all connections have ended. The end of the server's context ends them.
func (s *Server) waitForConns() {
	for _, c := range s.open() {
		<-c.done
	}
}

// open returns all connections.
func (s *Server) open() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		out = append(out, c)
	}
	return out
}

// accept accepts connections until the listener is closed.
func (s *Server) accept() {
	for pause := time.Duration(0); ; {
		nc, err := s.listener.Accept()
		switch {
		case err == nil:
			pause = 0
			s.admit(nc)
		case s.closing.Load() || errors.Is(err, net.ErrClosed):
			return
		default:
			// Most likely the process has no free descriptor. Open connections continue, and accept
			// waits.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.log.Warn("accept failed", "error", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-s.ctx.Done():
				return
			}
		}
	}
}

// admit starts a connection, or closes it if the limits are reached.
func (s *Server) admit(nc net.Conn) {
	var peer netip.AddrPort
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		peer = a.AddrPort()
		peer = netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port())
	}
	from := share.From(nc.RemoteAddr())
	s.mu.Lock()
	full := !s.roomLocked(from)
	if full || s.closing.Load() {
		s.mu.Unlock()
		if full && s.refused.Add(1)%1024 == 1 {
			s.log.Warn("too many connections: one is refused", "address", peer, "refused", s.refused.Load())
		}
		_ = nc.Close()
		return
	}
	s.lastID++
	c := newConn(s, nc, s.lastID, peer)
	s.conns[c] = struct{}{}
	s.count.Add(from)
	s.mu.Unlock()
	s.accepted.Add(1)
	if f := s.cfg.Observe.Opened; f != nil {
		f()
	}
	s.wg.Go(c.run)
}

// forget removes a connection.
func (s *Server) forget(c *Conn, reason string) {
	s.mu.Lock()
	s.dropLocked(c)
	s.mu.Unlock()
	if f := s.cfg.Observe.Closed; f != nil {
		f(reason)
	}
}

// now returns the nanoseconds since the server was opened, plus 1, so that it is never 0.
func (s *Server) now() int64 { return int64(time.Since(s.epoch)) + 1 }

// sweep applies the timeouts of all connections. One timer for all is much cheaper than a deadline
// for each frame.
func (s *Server) sweep() {
	c := s.cfg
	every := min(c.IdleTimeout, c.HandshakeTimeout, c.FrameTimeout, c.WriteTimeout) / 4
	tick := time.NewTicker(min(max(every, 5*time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			now := s.now()
			for _, c := range s.open() {
				c.expire(now)
			}
			s.relieve(now)
		case <-s.ctx.Done():
			return
		}
	}
}
