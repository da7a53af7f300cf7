package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// userTimeout is how long the kernel keeps bytes that the other side does not acknowledge, so that a
// vanished machine ends its connections in seconds instead of a quarter of an hour.
const userTimeout = 10 * time.Second

// tune sets keep-alive and the user timeout on a TCP connection.
func tune(c net.Conn) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tc.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: 2 * time.Second, Count: 3})
	if raw, err := tc.SyscallConn(); err == nil {
		_ = raw.Control(setUserTimeout)
	}
}

// dial opens a connection of one kind and returns it with the other side's identity.
func (s *Server) dial(ctx context.Context, addr string, kind Kind) (net.Conn, Identity, error) {
	me, ready := s.Identity()
	if !ready {
		return nil, Identity{}, errors.New("this replica has no identity yet")
	}
	if host, _, err := net.SplitHostPort(addr); err != nil {
		return nil, Identity{}, fmt.Errorf("dial %q: %w", addr, err)
	} else if s.cfg.TLS == nil && !loopback(host) {
		return nil, Identity{}, fmt.Errorf("dial %q: not loopback, and no tls is configured", addr)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.HandshakeTimeout)
	defer cancel()
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, Identity{}, err
	}
	tune(raw)
	release, err := s.track(raw)
	if err != nil {
		return nil, Identity{}, err
	}
	conn, them, err := s.greet(ctx, raw, hello{Kind: kind, From: me})
	if err != nil {
		_ = raw.Close()
		release()
		return nil, them, fmt.Errorf("hello to %s: %w", addr, err)
	}
	s.identified(raw, them)
	return &trackedConn{Conn: conn, release: release}, them, nil
}

// greet secures a dialed connection, says hello and checks the answer.
func (s *Server) greet(ctx context.Context, raw net.Conn, h hello) (net.Conn, Identity, error) {
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	conn, err := s.secure(ctx, raw, false)
	if err != nil {
		return nil, Identity{}, err
	}
	if _, err := conn.Write(h.encode()); err != nil {
		return nil, Identity{}, err
	}
	reply, err := readHello(conn)
	if err != nil {
		return nil, Identity{}, err
	}
	if reply.Code != HelloOK {
		return nil, reply.From, &HelloError{Code: reply.Code, Text: reply.Text}
	}
	if err := checkCertificate(conn, reply.From.ClusterName, reply.From.ID); err != nil {
		return nil, reply.From, err
	}
	me, _ := s.Identity()
	if code, text := compatible(me, reply.From, h.Kind); code != HelloOK {
		return nil, reply.From, &HelloError{Code: code, Text: text}
	}
	if !stop() && ctx.Err() != nil {
		return nil, reply.From, ctx.Err()
	}
	return conn, reply.From, raw.SetDeadline(time.Time{})
}

// refused says that err is the kernel's proof that nobody listens.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
