package localaddr

import (
	"net/netip"
	"testing"
)

func TestHas(t *testing.T) {
	here, err := Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	s := append(here, netip.MustParseAddr("192.0.2.7"))
	for text, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "192.0.2.7": true,
		"::ffff:192.0.2.7": true, "192.0.2.8": false, "0.0.0.0": false} {
		if got := s.Has(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	for _, a := range here {
		if !here.Has(a) {
			t.Errorf("%s is of an interface, and is not in the set", a)
		}
	}
	if here.Has(netip.Addr{}) {
		t.Error("no address is of this machine")
	}
}
