// Package share counts the connections of a listener by their source address, so that the
// connections of one caller cannot exclude the others.
package share

import (
	"net"
	"net/netip"
)

// From is what counts as one caller: an IPv4 address, or the 64 bits of an IPv6 address
// that a single host has for itself. All addresses that are none of IP are one.
func From(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	return Of(tcp.AddrPort().Addr())
}

// Of is From for an IP address.
func Of(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // no error: an address that is none has no prefix
	return p
}

// Count is how many connections each caller has. The zero value is empty. It is not for
// concurrent use.
type Count struct {
	open map[netip.Prefix]int
	all  int
}

// Add counts one in.
func (c *Count) Add(p netip.Prefix) {
	if c.open == nil {
		c.open = map[netip.Prefix]int{}
	}
	c.open[p]++
	c.all++
}

// Remove takes one out again.
func (c *Count) Remove(p netip.Prefix) {
	c.all--
	if c.open[p]--; c.open[p] <= 0 {
		delete(c.open, p)
	}
}

// All is how many there are.
func (c *Count) All() int { return c.all }

// By is how many a caller has.
func (c *Count) By(p netip.Prefix) int { return c.open[p] }

// Most is the caller that has the most, and how many.
func (c *Count) Most() (most netip.Prefix, n int) {
	for p, k := range c.open { // order is harmless: ties are broken by the address
		if k > n || (k == n && p.Addr().Less(most.Addr())) {
			most, n = p, k
		}
	}
	return most, n
}
