package server

import "testing"

// TestDialable: a port that is open on all addresses is told with the host that the replica advertises.
func TestDialable(t *testing.T) {
	for _, c := range []struct{ listens, advertised, want string }{
		{"[::]:8088", "10.0.0.11:8034", "10.0.0.11:8088"},
		{"0.0.0.0:8088", "rm1.example:8034", "rm1.example:8088"},
		{"[::]:8088", "[fd00::1]:8034", "[fd00::1]:8088"},
		{"127.0.0.1:8088", "10.0.0.11:8034", "127.0.0.1:8088"},
		{"[fd00::2]:8088", "10.0.0.11:8034", "[fd00::2]:8088"},
		{"", "10.0.0.11:8034", ""},
	} {
		if got := dialable(c.listens, c.advertised); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.listens, c.advertised, got, c.want)
		}
	}
}
