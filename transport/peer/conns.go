package peer

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"rmd/internal/share"
)

// Connections are bounded twice. Those whose other end has proven to be a replica, and those dialed
// from here, count against ConnsMax. An accepted connection is pending until its hello. Pending
// connections have a deadline (HandshakeTimeout) and a bound of their own, and one too many evicts
// another one. So a process that only opens connections cannot keep a replica out.

// pendingConn is an accepted connection before its hello.
type pendingConn struct {
	conn net.Conn
	from netip.Prefix
}

// addPending takes an accepted connection in.
func (s *Server) addPending(c net.Conn) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return nil, ErrClosed
	}
	if len(s.pending) >= s.cfg.PendingMax {
		i := evictable(s.pending)
		_ = s.pending[i].conn.Close()
		s.pending = slices.Delete(s.pending, i, i+1)
	}
	s.pending = append(s.pending, pendingConn{c, share.From(c.RemoteAddr())})
	return func() { s.forget(c) }, nil
}

// evictable is the pending connection to close: the oldest of the address that has the most, so
// that the connections of one host evict each other before those of another.
func evictable(all []pendingConn) int {
	var count share.Count
	for _, x := range all {
		count.Add(x.from)
	}
	worst := 0
	for i, x := range all { // the first of those with as many is the oldest
		if count.By(x.from) > count.By(all[worst].from) {
			worst = i
		}
	}
	return worst
}

// track takes in a connection that was dialed here.
func (s *Server) track(c net.Conn) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.roomLocked()
	if s.closed {
		err = ErrClosed
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	s.conns[c] = caller{}
	return func() { s.forget(c) }, nil
}

// promote makes a pending connection a replica's, or says why not.
func (s *Server) promote(c net.Conn, them caller) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.pending, func(x pendingConn) bool { return x.conn == c })
	if i < 0 {
		return fmt.Errorf("more than %d connections have not sent a hello", s.cfg.PendingMax)
	}
	if err := s.roomLocked(); err != nil {
		return err
	}
	s.pending = slices.Delete(s.pending, i, i+1)
	s.conns[c] = them
	return nil
}

// roomLocked says whether there is room for one more connection of a replica.
func (s *Server) roomLocked() error {
	if len(s.conns) >= s.cfg.ConnsMax {
		return fmt.Errorf("%d connections are open, the limit", len(s.conns))
	}
	return nil
}

// identified remembers who is at the other end of a dialed connection.
func (s *Server) identified(c net.Conn, them caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conns[c]; ok {
		s.conns[c] = them
	}
}

// forget drops a connection.
func (s *Server) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.pending = slices.DeleteFunc(s.pending, func(x pendingConn) bool { return x.conn == c })
}

// closeLocked ends every connection.
func (s *Server) closeLocked() {
	for c := range s.conns { // in any order
		_ = c.Close()
	}
	for _, x := range s.pending {
		_ = x.conn.Close()
	}
}
