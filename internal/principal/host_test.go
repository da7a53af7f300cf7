package principal

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
)

func TestOnHost(t *testing.T) {
	own, err := machine()
	if err != nil {
		t.Fatal(err)
	}
	if short, err := os.Hostname(); err != nil || !strings.HasPrefix(strings.ToLower(own), strings.ToLower(short)) {
		t.Errorf("this machine is %s, and its full name %s", short, own)
	}
	own = strings.ToLower(own)
	for _, c := range []struct{ pattern, host, want string }{
		{"rm/_HOST@X", "Rm1.Example", "rm/rm1.example@X"},
		{"rm/_HOST", "rm1", "rm/rm1"},
		{"rm/_HOST@X", "10.0.0.1", "rm/10.0.0.1@X"},
		{"rm/_HOST@X", "0.0.0.0", "rm/" + own + "@X"},
		{"rm/_HOST@X", "::", "rm/" + own + "@X"},
		{"rm/_HOST@X", "", "rm/" + own + "@X"},
		{"rm/Rm2@X", "!", "rm/Rm2@X"}, // "!": the host must not be looked up
		{"rm/_host@X", "!", "rm/_host@X"},
		{"rm/_HOST.example@X", "!", "rm/_HOST.example@X"},
		{"a/b/_HOST@X", "!", "a/b/_HOST@X"},
		{"HTTP/*", "!", "HTTP/*"},
		{"ann@X", "!", "ann@X"},
		{"", "!", ""},
	} {
		got, err := OnHost(c.pattern, func() (string, error) {
			if c.host == "!" {
				t.Errorf("%s: the host is looked up", c.pattern)
			}
			return c.host, nil
		})
		if got != c.want || err != nil {
			t.Errorf("%s on %s: %q, want %q (%v)", c.pattern, c.host, got, c.want, err)
		}
	}
	cause := errors.New("no name")
	if got, err := OnHost("rm/_HOST@X", func() (string, error) { return "", cause }); got != "" || !errors.Is(err, cause) {
		t.Errorf("a host without a name: %q, %v", got, err)
	}
}

func TestHostName(t *testing.T) {
	if got := HostName(t.Context(), netip.MustParseAddr("192.0.2.1")); got != "" { // an address for documentation
		t.Errorf("an address without a name is %q", got)
	}
}
