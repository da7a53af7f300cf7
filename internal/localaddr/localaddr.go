// Package localaddr tells whether an address is one of this machine's.
package localaddr

import (
	"net"
	"net/netip"
	"slices"
)

// A Set has the addresses of this machine's interfaces.
type Set []netip.Addr

// Interfaces returns the addresses of this machine as they are now. On an error, which is the
// kernel's, the set is empty, and has loopback addresses alone.
func Interfaces() (Set, error) {
	all, err := net.InterfaceAddrs()
	var s Set
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			s = append(s, p.Addr().Unmap())
		}
	}
	return s, err
}

// Has reports whether an address is in the set, or one of the loopback network. An address of IPv4
// may be written as IPv6.
func (s Set) Has(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || slices.Contains(s, a)
}
