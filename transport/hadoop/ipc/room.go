package ipc

import (
	"net"
	"net/netip"
	"slices"
	"time"

	"rmd/internal/share"
)

// A port has a limit of connections, and each address may use a part of it. If an address has used
// its part, a new connection replaces one of its own that has made no call for a while. If the
// whole port is full, the address with the most connections loses one to an address with fewer. So
// one host cannot keep the others out.

// spareAfter is how long a connection must be without a call before a new connection of the same
// address replaces it. NodeManagers and ApplicationMasters call every second.
const spareAfter = 10 * time.Second

// sparedAtOnce is the divisor for the share of an address's idle connections that are closed at one
// time, so that not every new connection must search for one.
const sparedAtOnce = 64

// lookAgain is how long nobody searches for idle connections after a search found none. During a
// flood of connections, a search must not cost more than a refusal.
const lookAgain = 100 * time.Millisecond

// roomLocked reports whether there is room for a connection from an address. It closes idle
// connections if necessary.
func (s *Server) roomLocked(from netip.Prefix) bool {
	each := s.cfg.ConnsPerAddressMax
	if each == 0 {
		each = (s.cfg.ConnsMax + 1) / 2
	}
	switch {
	case s.count.All() >= s.cfg.ConnsMax:
		return s.spareLocked(from)
	case s.count.By(from) >= each:
		return s.endIdleLocked(from, spareAfter)
	}
	return true
}

// makeRoom closes connections for a new one when another limit than those of this port is reached.
func (s *Server) makeRoom(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spareLocked(share.From(nc.RemoteAddr()))
}

// spareLocked makes room in a full port.
func (s *Server) spareLocked(from netip.Prefix) bool {
	most, n := s.count.Most()
	if n > s.count.By(from)+1 {
		return s.endIdleLocked(most, 0)
	}
	return s.endIdleLocked(most, spareAfter)
}

// endIdleLocked closes connections of an address that have no call in flight and had none for at
// least that long, the longest idle first. It returns false if there are none.
func (s *Server) endIdleLocked(of netip.Prefix, least time.Duration) bool {
	now := s.now()
	if least > 0 && now < s.barren {
		return false
	}
	var idle []*Conn
	for c := range s.conns { // the order does not matter: they are sorted
		if c.from == of && c.inflight.Load() == 0 && now-c.called.Load() >= int64(least) {
			idle = append(idle, c)
		}
	}
	slices.SortFunc(idle, func(a, b *Conn) int {
		if d := a.called.Load() - b.called.Load(); d != 0 {
			return int(min(max(d, -1), 1))
		}
		return int(int64(a.id) - int64(b.id))
	})
	if least == 0 {
		idle = idle[:min(len(idle), 1)]
	}
	for _, c := range idle[:min(len(idle), 1+len(idle)/sparedAtOnce)] {
		s.dropLocked(c)
		c.fail(endCrowded) // before Close: the reader would give its error as the reason
		_ = c.net.Close()  // fail closes it later, but its descriptor may be needed now
	}
	if len(idle) == 0 {
		s.barren = now + int64(lookAgain)
	}
	return len(idle) > 0
}

// dropLocked removes a connection, once.
func (s *Server) dropLocked(c *Conn) {
	if _, open := s.conns[c]; open {
		delete(s.conns, c)
		s.count.Remove(c.from)
	}
}
