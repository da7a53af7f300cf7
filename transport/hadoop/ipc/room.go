package ipc

import (
	"net"
	"net/netip"
	"slices"
	"time"

	"rmd/internal/share"
)

// A port has room for so many connections, and one address for a part of them. A caller
// that finds its part used up takes the place of a connection of its own that has made
// no call for a while. Where the whole port is full, the address that has the most gives
// way to one that has fewer, so that one host can never keep the others out.

// spareAfter is how long a connection is without a call before it gives way to another
// of its own address. NodeManagers and ApplicationMasters call every second.
const spareAfter = 10 * time.Second

// sparedAtOnce is which part of an address's connections give way at one time, so that
// not every newcomer has to look for one.
const sparedAtOnce = 64

// lookAgain is how long nobody looks for idle connections after there were none: a flood
// must not cost more than refusing it does.
const lookAgain = 100 * time.Millisecond

// roomLocked says whether there is room for one more connection from an address, after
// making some if need be.
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

// makeRoom ends connections for one that has just come, where something beside the
// bounds of this port is used up.
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

// endIdleLocked ends connections of an address that have no call in flight and have been
// without one for at least that long, those that were idle longest first.
func (s *Server) endIdleLocked(of netip.Prefix, least time.Duration) bool {
	now := s.now()
	if least > 0 && now < s.barren {
		return false
	}
	var idle []*Conn
	for c := range s.conns { // order is harmless: they are sorted
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
		_ = c.net.Close() // at once: its descriptor may be what is needed
		c.fail(endCrowded)
	}
	if len(idle) == 0 {
		s.barren = now + int64(lookAgain)
	}
	return len(idle) > 0
}

// dropLocked takes a connection off the books, once.
func (s *Server) dropLocked(c *Conn) {
	if _, open := s.conns[c]; open {
		delete(s.conns, c)
		s.count.Remove(c.from)
	}
}
