package peer

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Handler answers one call. from is ID.INCARNATION of the calling replica. The text of its error is
// sent to the caller, with a code if the error has an ErrorCode method.
type Handler func(ctx context.Context, from string, req []byte) ([]byte, error)

// Server is one replica's end of all connections to other replicas: it listens, and it dials.
type Server struct {
	cfg    Config
	ln     net.Listener
	addr   string
	stream *StreamLayer
	mesh   *mesh
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	me       Identity
	ready    bool
	key      ed25519.PrivateKey
	gate     gate
	handlers map[byte]Handler
	conns    map[net.Conn]caller // open connections and the replicas at the other end
	clients  map[string]*client

	pending   []pendingConn // accepted and without a hello; the oldest first
	strangers []pendingConn // those of conns whose replica was not a member when it called
}

// Listen opens the port. Until Identify is called, connections get the answer NOT_READY.
func Listen(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("raft.listen: %w", err)
	}
	var boot [8]byte
	_, _ = rand.Read(boot[:]) // crypto/rand never fails
	s := &Server{
		cfg: cfg, ln: ln, addr: cfg.Advertise,
		me:       Identity{ClusterName: cfg.ClusterName, ID: cfg.ID, Boot: binary.BigEndian.Uint64(boot[:])},
		handlers: map[byte]Handler{}, conns: map[net.Conn]caller{}, clients: map[string]*client{},
	}
	if s.addr == "" {
		s.addr = ln.Addr().String()
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.stream = newStreamLayer(s)
	s.mesh = newMesh(s)
	s.wg.Go(s.accept)
	return s, nil
}

// Addr returns the address that other replicas dial.
func (s *Server) Addr() string { return s.addr }

// Identify sets the incarnation and the cluster id, which is empty before bootstrap or join. It may
// be called again when the cluster id becomes known.
func (s *Server) Identify(incarnation, clusterID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.me.Incarnation, s.me.ClusterID, s.ready = incarnation, clusterID, true
}

// Identity returns this replica's identity, and whether Identify was called.
func (s *Server) Identity() (Identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.me, s.ready
}

// Handle registers the handler of one method. Methods below 32 belong to package cluster.
func (s *Server) Handle(method byte, h func(ctx context.Context, from string, req []byte) ([]byte, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[method] = h
}

// Close closes the listener and every connection, and waits for all goroutines.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.cancel()
	err := s.ln.Close()
	s.closeLocked()
	s.mu.Unlock()
	_ = s.stream.Close()
	s.wg.Wait()
	return err
}

// CloseConns closes every connection and continues to listen. Connections are dialed again when
// they are needed.
func (s *Server) CloseConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
}

// accept accepts connections.
func (s *Server) accept() {
	for {
		c, err := s.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.cfg.Logger.Warn("accepting a connection failed", "error", err)
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-s.ctx.Done():
				return
			}
		}
		tune(c)
		release, err := s.addPending(c)
		if err != nil {
			s.cfg.Logger.Debug("connection refused", "remote", c.RemoteAddr(), "error", err)
			continue
		}
		s.wg.Go(func() { s.handleConn(c, release) })
	}
}

// handleConn answers one hello and serves the connection by its kind.
func (s *Server) handleConn(raw net.Conn, release func()) {
	conn, h, err := s.answer(raw)
	if err != nil {
		s.cfg.Logger.Debug("hello refused", "remote", raw.RemoteAddr(), "error", err)
		_ = raw.Close()
		release()
		return
	}
	tc := &trackedConn{Conn: conn, release: release}
	switch h.Kind {
	case KindRaft:
		s.stream.deliver(tc, h.From.ServerID()) // Raft closes it
	case KindLiveness:
		s.mesh.wake(h.From.ID)
		s.mesh.serve(tc)
		_ = tc.Close()
	case KindRPC:
		s.serveRPC(tc, h.From)
		_ = tc.Close()
	}
}

// answer secures an accepted connection, reads the hello and replies to it.
func (s *Server) answer(raw net.Conn) (net.Conn, hello, error) {
	_ = raw.SetDeadline(time.Now().Add(s.cfg.HandshakeTimeout))
	conn, err := s.secure(s.ctx, raw, true)
	if err != nil {
		return nil, hello{}, err
	}
	h, err := readHello(conn)
	if err != nil {
		return nil, hello{}, err
	}
	me, _ := s.Identity()
	who, code, text := s.judge(conn, h)
	if code == HelloOK {
		rules, _ := s.rules()
		if err := s.promote(raw, who, h.Kind == KindRPC && rules.isStranger(who.server)); err != nil {
			code, text = HelloNotReady, err.Error()
		}
	}
	reply := hello{Kind: h.Kind, Code: code, Text: text, From: me}
	if code == HelloOK {
		_, key := s.rules()
		if reply.Text, err = prove(conn, key, proofListener, reply); err != nil {
			return nil, h, err
		}
	}
	if _, err := conn.Write(reply.encode()); err != nil {
		return nil, h, err
	}
	if code != HelloOK {
		return nil, h, fmt.Errorf("%s from %s: %s: %s", kindName(h.Kind), h.From.ServerID(), code, text)
	}
	return conn, h, raw.SetDeadline(time.Time{})
}

// judge decides about a hello.
func (s *Server) judge(conn net.Conn, h hello) (who caller, code HelloCode, text string) {
	me, ready := s.Identity()
	rules, _ := s.rules()
	if h.Kind < KindRaft || h.Kind > KindRPC {
		return who, HelloUnknownKind, fmt.Sprintf("kind %d", h.Kind)
	}
	if !ready {
		return who, HelloNotReady, "starting"
	}
	if err := checkCertificate(conn, me.ClusterName, h.From.ID); err != nil {
		return who, HelloBadIdentity, err.Error()
	}
	key, err := checkProof(conn, proofDialer, h)
	if err != nil {
		return who, HelloBadIdentity, err.Error()
	}
	if code, text := compatible(me, h.From, h.Kind); code != HelloOK {
		return who, code, text
	}
	who = caller{server: h.From.ServerID(), kind: h.Kind, serial: serial(conn), key: key}
	code, text = rules.admits(who)
	return who, code, text
}

// compatible compares two identities. Raft connections need a cluster id that both sides know.
// Calls are allowed before, because joining is a call.
func compatible(me, them Identity, kind Kind) (HelloCode, string) {
	if me.ClusterName != them.ClusterName {
		return HelloOtherName, fmt.Sprintf("cluster name is %q here, %q there", me.ClusterName, them.ClusterName)
	}
	if me.ClusterID != "" && them.ClusterID != "" && me.ClusterID != them.ClusterID {
		return HelloOtherCluster, fmt.Sprintf("cluster id is %s here, %s there", me.ClusterID, them.ClusterID)
	}
	if kind == KindRaft && (me.ClusterID == "" || them.ClusterID == "") {
		return HelloNotReady, "no cluster id yet"
	}
	return HelloOK, ""
}

func kindName(k Kind) string {
	switch k {
	case KindRaft:
		return "raft"
	case KindLiveness:
		return "liveness"
	case KindRPC:
		return "rpc"
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// trackedConn is removed from its server when it is closed.
type trackedConn struct {
	net.Conn
	once    sync.Once
	release func()
}

// Close closes the connection and removes it from the server.
func (c *trackedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}
