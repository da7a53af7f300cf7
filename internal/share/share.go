// Package share counts the connections of a listener by their source address, so that the
// connections of one caller cannot exclude the others.
package share

import (
	"net"
	"net/netip"
)

// From returns the caller of an address: an IPv4 address, or the first 64 bits of an IPv6 address,
// because one host may have all addresses with the same 64 bits. All addresses that are not TCP
// addresses are one caller.
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
	p, _ := a.Prefix(bits) // an invalid address has no prefix, which is fine
	return p
}

// Count counts the connections of each caller. The zero value is empty. It is not safe for
// concurrent use.
type Count struct {
	open map[netip.Prefix]int
	all  int
}

// Add adds a connection of a caller.
func (c *Count) Add(p netip.Prefix) {
	if c.open == nil {
		c.open = map[netip.Prefix]int{}
	}
	c.open[p]++
	c.all++
}

// Remove removes a connection of a caller.
func (c *Count) Remove(p netip.Prefix) {
	c.all--
	if c.open[p]--; c.open[p] <= 0 {
		delete(c.open, p)
	}
}

// All returns the number of all connections.
func (c *Count) All() int { return c.all }

// By returns the number of connections of a caller.
func (c *Count) By(p netip.Prefix) int { return c.open[p] }

// Most returns the caller with the most connections, and their number.
func (c *Count) Most() (most netip.Prefix, n int) {
	for p, k := range c.open { // the order does not matter: the address breaks ties
		if k > n || (k == n && p.Addr().Less(most.Addr())) {
			most, n = p, k
		}
	}
	return most, n
}
