package peer

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"rmd/internal/share"
)

// Connections have two limits. Connections dialed from here, and those whose other end has proven
// to be a replica, count against ConnsMax. An accepted connection is pending until its hello.
// Pending connections have a deadline (HandshakeTimeout) and their own limit, and a further one
// closes another one. The same holds for connections of replicas that are not members, which every
// owner of a certificate may open. Therefore neither a process that only opens connections nor a
// removed replica can keep a member out.

// pendingConn is an accepted connection that another one may evict.
type pendingConn struct {
	conn net.Conn
	from netip.Prefix
}

// addPending registers an accepted connection.
func (s *Server) addPending(c net.Conn) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return nil, ErrClosed
	}
	s.pending, _ = evictOne(s.pending, s.cfg.PendingMax)
	s.pending = append(s.pending, pendingConn{c, share.From(c.RemoteAddr())})
	return func() { s.forget(c) }, nil
}

// evictOne closes one connection if there are already as many as the limit, and returns the rest.
func evictOne(all []pendingConn, limit int) (rest []pendingConn, evicted net.Conn) {
	if len(all) < limit {
		return all, nil
	}
	i := evictable(all)
	evicted = all[i].conn
	_ = evicted.Close()
	return slices.Delete(all, i, i+1), evicted
}

// evictable returns the connection to close: the oldest of the address that has the most. The
// connections of one host are therefore closed before those of another.
func evictable(all []pendingConn) int {
	var count share.Count
	for _, x := range all {
		count.Add(x.from)
	}
	worst := 0
	for i, x := range all { // the first one is the oldest
		if count.By(x.from) > count.By(all[worst].from) {
			worst = i
		}
	}
	return worst
}

// track registers a connection that was dialed here.
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

// promote changes a pending connection to a replica's, or returns why it cannot.
func (s *Server) promote(c net.Conn, them caller, stranger bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.pending, func(x pendingConn) bool { return x.conn == c })
	if i < 0 {
		return fmt.Errorf("more than %d connections have not sent a hello", s.cfg.PendingMax)
	}
	if stranger {
		var evicted net.Conn
		s.strangers, evicted = evictOne(s.strangers, s.cfg.StrangersMax)
		delete(s.conns, evicted) // now: until its goroutine ends, it would take the place of a member
	}
	if err := s.roomLocked(); err != nil {
		return err
	}
	if stranger {
		s.strangers = append(s.strangers, s.pending[i])
	}
	s.pending = slices.Delete(s.pending, i, i+1)
	s.conns[c] = them
	return nil
}

// roomLocked returns an error if there is no room for another connection with a replica.
func (s *Server) roomLocked() error {
	if len(s.conns) >= s.cfg.ConnsMax {
		return fmt.Errorf("%d connections are open, the limit", len(s.conns))
	}
	return nil
}

// identified records the replica at the other end of a dialed connection.
func (s *Server) identified(c net.Conn, them caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conns[c]; ok {
		s.conns[c] = them
	}
}

// forget removes a connection.
func (s *Server) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	is := func(x pendingConn) bool { return x.conn == c }
	s.pending, s.strangers = slices.DeleteFunc(s.pending, is), slices.DeleteFunc(s.strangers, is)
}

// closeLocked closes every connection.
func (s *Server) closeLocked() {
	for c := range s.conns { // the order does not matter
		_ = c.Close()
	}
	for _, x := range s.pending {
		_ = x.conn.Close()
	}
}
