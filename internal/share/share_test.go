package share

import (
	"net"
	"net/netip"
	"testing"
)

func TestFrom(t *testing.T) {
	for text, want := range map[string]string{
		"10.1.2.3:4": "10.1.2.3/32", "[::ffff:10.1.2.3]:5": "10.1.2.3/32", "[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:7": "fe80::/64",
	} {
		a := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))
		if got := From(a).String(); got != want {
			t.Errorf("%s counts as %s, want %s", text, got, want)
		}
	}
	if From(&net.UnixAddr{Name: "x"}) != From(nil) {
		t.Error("what is no IP address is not one caller")
	}
}

func TestCount(t *testing.T) {
	var c Count
	a, b := netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("10.0.0.2/32")
	for range 3 {
		c.Add(b)
	}
	c.Add(a)
	if p, n := c.Most(); p != b || n != 3 || c.All() != 4 || c.By(a) != 1 {
		t.Errorf("%v has %d of %d", p, n, c.All())
	}
	c.Remove(b)
	c.Remove(b)
	if p, n := c.Most(); p != a || n != 1 {
		t.Errorf("of equal ones %v has %d", p, n)
	}
	c.Remove(a)
	c.Remove(b)
	if _, n := c.Most(); n != 0 || c.All() != 0 || len(c.open) != 0 {
		t.Errorf("%d are left", c.All())
	}
}
