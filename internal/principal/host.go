package principal

import (
	"context"
	"iter"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// lookupTimeout limits the lookup of this machine's name.
const lookupTimeout = 2 * time.Second

// OnHost replaces _HOST in SERVICE/_HOST@REALM by the name of a host, in lower case. It asks for the
// name only then. An empty name and 0.0.0.0 stand for this machine.
//
// Source: Hadoop 3.4.2, SecurityUtil.getServerPrincipal.
func OnHost(pattern string, host func() (string, error)) (string, error) {
	n, err := ParseName(pattern)
	if err != nil || n.Host != "_HOST" {
		return pattern, nil // who uses it says what is wrong with it
	}
	if n.Host, err = host(); err != nil {
		return "", err
	}
	if a, err := netip.ParseAddr(n.Host); n.Host == "" || err == nil && a.IsUnspecified() {
		if n.Host, err = machine(); err != nil {
			return "", err
		}
	}
	n.Host = strings.ToLower(n.Host)
	return n.String(), nil
}

// machine returns the full name of this machine.
func machine() (string, error) {
	name, err := os.Hostname()
	if err != nil || strings.Contains(name, ".") {
		return name, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	addrs, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", name) // without an address, the short name is all there is
	for _, a := range addrs {
		for full := range names(ctx, a) {
			if strings.HasPrefix(strings.ToLower(full), strings.ToLower(name)+".") {
				return full, nil
			}
		}
	}
	return name, nil
}

// HostName returns the name of an address if the name has this address, or else "".
func HostName(ctx context.Context, a netip.Addr) string {
	for name := range names(ctx, a) {
		return name
	}
	return ""
}

// HostNames returns all names of an address that have this address.
func HostNames(ctx context.Context, a netip.Addr) []string { return slices.Collect(names(ctx, a)) }

// names yields the names of an address that lead back to it, without the last dot.
func names(ctx context.Context, a netip.Addr) iter.Seq[string] {
	a = a.Unmap().WithZone("")
	return func(yield func(string) bool) {
		all, _ := net.DefaultResolver.LookupAddr(ctx, a.String()) // an address without a name has none
		for _, name := range all {
			addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
			if err == nil && slices.ContainsFunc(addrs, func(b netip.Addr) bool { return b.Unmap() == a }) &&
				!yield(strings.TrimSuffix(name, ".")) {
				return
			}
		}
	}
}
