package peer

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"rmd/internal/share"
)

// Connections are bounded twice. Those whose other end has shown to be a replica, and those dialed from here, count
// against ConnsMax. An accepted one that has not said who it is is a stranger: strangers have a deadline
// (HandshakeTimeout) and a bound of their own, and whoever is one too many takes the place of another. So nobody who
// only opens connections can keep a replica out.

// stranger is an accepted connection before its hello.
type stranger struct {
	conn net.Conn
	from netip.Prefix
}

// admit takes an accepted connection in as a stranger.
func (s *Server) admit(c net.Conn) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return nil, ErrClosed
	}
	if len(s.strangers) >= s.cfg.StrangersMax {
		i := crowding(s.strangers)
		_ = s.strangers[i].conn.Close()
		s.strangers = slices.Delete(s.strangers, i, i+1)
	}
	s.strangers = append(s.strangers, stranger{c, share.From(c.RemoteAddr())})
	return func() { s.forget(c) }, nil
}

// crowding is the stranger who must go: the oldest of the address that has the most, so that the many of one host
// push out each other before those of another.
func crowding(all []stranger) int {
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

// know makes a replica's of a stranger's connection, or says why not.
func (s *Server) know(c net.Conn, them caller) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.strangers, func(x stranger) bool { return x.conn == c })
	if i < 0 {
		return fmt.Errorf("more than %d connections have not said who they are", s.cfg.StrangersMax)
	}
	if err := s.roomLocked(); err != nil {
		return err
	}
	s.strangers = slices.Delete(s.strangers, i, i+1)
	s.conns[c] = them
	return nil
}

// roomLocked says whether one more replica's connection may be.
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

// forget takes a connection off the books.
func (s *Server) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.strangers = slices.DeleteFunc(s.strangers, func(x stranger) bool { return x.conn == c })
}

// closeLocked ends every connection.
func (s *Server) closeLocked() {
	for c := range s.conns { // in any order
		_ = c.Close()
	}
	for _, x := range s.strangers {
		_ = x.conn.Close()
	}
}
