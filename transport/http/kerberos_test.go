package httpserver

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"rmd/transport/http/auth"
	"rmd/yarn"
)

// kerberosBench returns a server that accepts each ticket once: a token of Kerberos whose last byte
// counts up. mode is http.auth, and now the time.
func kerberosBench(t *testing.T, mode string, now func() time.Time) *bench {
	used := map[string]bool{}
	return newBench(t, func(c *Config) {
		c.Auth.Mode, c.Now = mode, now
		c.Kerberos = &auth.Kerberos{Validity: time.Hour, Open: []string{"/metrics"}, Secret: []byte("secret"),
			ShortName: func(string) (string, error) { return "ann", nil },
			Admin:     func(string) bool { return false },
			Accept: func(token []byte, _ netip.Addr) (string, []byte, error) {
				if used[string(token)] {
					return "", nil, errors.New("replay")
				}
				used[string(token)] = true
				return "ann@TEST", nil, nil
			}}
	})
}

// ticketOf returns a header Authorization with Kerberos's own token.
func ticketOf(number byte) string {
	return "Negotiate " + base64.StdEncoding.EncodeToString(append([]byte{0x60, 12, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2}, number))
}

// TestEveryRouteWithKerberos asks every endpoint without a login, from this machine and from another
// one. Only health checks, the whitelist and a cluster's first steps are open.
func TestEveryRouteWithKerberos(t *testing.T) {
	now := func() time.Time { return time.UnixMilli(clusterTime) }
	for _, mode := range []string{auth.Optional, auth.Required, auth.Off} {
		b := kerberosBench(t, mode, now)
		for i := range b.s.mux.Routes() {
			route := &b.s.mux.Routes()[i]
			for _, from := range []string{"127.0.0.1:40000", "10.0.0.1:40000"} {
				r := asked(route.Method, route.Pattern, "")
				r.RemoteAddr = from
				here := from == "127.0.0.1:40000"
				r, err := b.s.guard.Identify(http.Header{}, r, false)
				if err == nil {
					err = b.s.guard.Admit(r, route.Access())
				}
				want := route.Access().Least == yarn.RoleNone || route.Pattern == "/metrics" || here && (mode == auth.Off || route.Access().First)
				if (err == nil) != want {
					t.Errorf("%s, from %s: %s %s without a login: %v", mode, from, route.Method, route.Pattern, err)
				}
			}
		}
	}
}

// TestKerberosGoesOn checks that a long request goes on with the ticket that began it, until the
// login expires.
func TestKerberosGoesOn(t *testing.T) {
	var late atomic.Int64 // the server's jobs read the clock, too
	b := kerberosBench(t, auth.Optional, func() time.Time { return time.UnixMilli(clusterTime).Add(time.Duration(late.Load())) })
	read := auth.Access{Class: auth.ClassRead, Least: yarn.RoleRead}
	r := asked("GET", "/v1/events", "")
	r.Header.Set("Authorization", ticketOf(1))
	h := http.Header{}
	r, err := b.s.guard.Identify(h, r, false)
	if err != nil || h.Get("Set-Cookie") == "" {
		t.Fatalf("a ticket: %v, %v", err, h)
	}
	if p := auth.Of(r); p.Name != "ann" || p.Role != yarn.RoleSubmit || p.String() != "kerberos ann@TEST" {
		t.Errorf("the caller is %+v", p)
	}
	if err := b.s.guard.StillMay(r, false, read); err != nil {
		t.Errorf("the request does not go on: %v", err)
	}
	if err := b.s.guard.StillMay(r, false, auth.Access{Class: auth.ClassRead, Least: yarn.RoleAdmin}); err == nil {
		t.Error("it goes on although it needs another role")
	}
	late.Store(int64(2 * time.Hour))
	if err := b.s.guard.StillMay(r, false, read); err == nil {
		t.Error("it goes on although the login has expired")
	}
	again := asked("GET", "/v1/events", "")
	again.Header.Set("Authorization", ticketOf(1))
	if _, err := b.s.guard.Identify(http.Header{}, again, false); err == nil {
		t.Error("the same ticket is accepted again")
	}
}
