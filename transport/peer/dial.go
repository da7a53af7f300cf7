package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// userTimeout is how long the kernel waits for the other side to acknowledge bytes
// (TCP_USER_TIMEOUT). Connections to a vanished machine therefore end within seconds, not after a
// quarter of an hour.
const userTimeout = 10 * time.Second

// tune sets keep-alive and the user timeout on a TCP connection.
func tune(c net.Conn) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tc.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second,
		Interval: 2 * time.Second, Count: 3})
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
	conn, them, who, err := s.greet(ctx, raw, addr, hello{Kind: kind, From: me})
	if err != nil {
		_ = raw.Close()
		release()
		return nil, them, fmt.Errorf("hello to %s: %w", addr, err)
	}
	s.identified(raw, who)
	return &trackedConn{Conn: conn, release: release}, them, nil
}

// Reach opens a new connection to the replica at addr and closes it. It uses no connection that is
// open already.
func (s *Server) Reach(ctx context.Context, addr string) error {
	conn, _, err := s.dial(ctx, addr, KindRaft)
	if err != nil {
		return err
	}
	return conn.Close()
}

// greet secures a dialed connection, exchanges hellos and checks the answer.
func (s *Server) greet(ctx context.Context, raw net.Conn, addr string, h hello) (net.Conn, Identity, caller, error) {
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	rules, key := s.rules()
	conn, err := s.secure(ctx, raw, false)
	if err != nil {
		return nil, Identity{}, caller{}, err
	}
	if h.Text, err = prove(conn, key, proofDialer, h); err != nil {
		return nil, Identity{}, caller{}, err
	}
	if _, err := conn.Write(h.encode()); err != nil {
		return nil, Identity{}, caller{}, err
	}
	reply, err := readHello(conn)
	if err != nil {
		return nil, Identity{}, caller{}, err
	}
	who, err := s.judgeReply(conn, rules, addr, h.Kind, reply)
	if err != nil {
		return nil, reply.From, who, err
	}
	if !stop() && ctx.Err() != nil {
		return nil, reply.From, who, ctx.Err()
	}
	return conn, reply.From, who, raw.SetDeadline(time.Time{})
}

// judgeReply decides whether the replica that answered is accepted.
func (s *Server) judgeReply(conn net.Conn, rules gate, addr string, kind Kind, reply hello) (caller, error) {
	if err := checkCertificate(conn, reply.From.ClusterName, reply.From.ID); err != nil {
		return caller{}, err
	}
	if reply.Code != HelloOK {
		return caller{}, &HelloError{Code: reply.Code, Text: reply.Text, By: reply.From.ServerID()}
	}
	me, _ := s.Identity()
	if code, text := compatible(me, reply.From, kind); code != HelloOK {
		return caller{}, &HelloError{Code: code, Text: text, By: me.ServerID()}
	}
	key, err := checkProof(conn, proofListener, reply)
	if err != nil {
		return caller{}, err
	}
	who := caller{server: reply.From.ServerID(), kind: kind, addr: addr, serial: serial(conn), key: key}
	if code, text := rules.admits(who); code != HelloOK {
		return who, &HelloError{Code: code, Text: text, By: me.ServerID()}
	}
	return who, nil
}

// refused reports whether err is "connection refused", which proves that no process listens.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
