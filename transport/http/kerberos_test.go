package httpserver

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rmd/transport/http/auth"
	"rmd/yarn"
)

// kerberosBench returns a server that accepts each ticket once: a token of Kerberos whose last byte is
// 1 for ann, 2 for knox, who may act for others, and 3 for a principal whose rule makes an empty name.
// The text "token of USER" is a delegation token for an hour. mode is http.auth, and now the time.
func kerberosBench(t *testing.T, mode string, now func() time.Time) *bench {
	used, owners := map[string]bool{}, map[byte]string{1: "ann", 2: "knox", 3: ""}
	return newBench(t, func(c *Config) {
		c.Auth.Mode, c.Now = mode, now
		c.Kerberos = &auth.Kerberos{Validity: time.Hour, Open: []string{"/metrics"}, Secret: []byte("secret"),
			ShortName: func(principal string) (string, error) { return strings.TrimSuffix(principal, "@TEST"), nil },
			Admin:     func(user string) bool { return user == "boss" },
			Token: func(_ context.Context, text string) (string, error) {
				if user, ok := strings.CutPrefix(text, "token of "); ok &&
					now().UnixMilli() < clusterTime+time.Hour.Milliseconds() {
					return user, nil
				}
				return "", errors.New("it ran out")
			},
			MayImpersonate: func(real, _ string, _ netip.Addr) error {
				if real == "knox" {
					return nil
				}
				return errors.New(real + " may not")
			},
			Accept: func(token []byte, _ netip.Addr) (string, []byte, error) {
				if used[string(token)] {
					return "", nil, errors.New("replay")
				}
				used[string(token)] = true
				return owners[token[len(token)-1]] + "@TEST", nil, nil
			}}
	})
}

// ticketOf returns a header Authorization with Kerberos's own token.
func ticketOf(number byte) string {
	return "Negotiate " + base64.StdEncoding.EncodeToString(
		append([]byte{0x60, 12, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2}, number))
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
				want := route.Access().Least == yarn.RoleNone || route.Pattern == "/metrics" ||
					here && (mode == auth.Off || route.Access().First)
				if (err == nil) != want {
					t.Errorf("%s, from %s: %s %s without a login: %v", mode, from, route.Method, route.Pattern, err)
				}
			}
		}
	}
}

// TestPageWithoutTicket checks the page for browsers that show no ticket: it says what to do and leads
// back to the page that was asked for. The login form that is opened by itself does not speak of tickets.
func TestPageWithoutTicket(t *testing.T) {
	b := kerberosBench(t, auth.Required, clusterClock)
	w := b.ask("GET", "/ui/apps?state=RUNNING", "")
	page := w.Body.String()
	if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Negotiate" {
		t.Errorf("without a ticket: %d %v", w.Code, w.Header())
	}
	for _, s := range []string{"no Kerberos ticket", "kinit", "AuthServerAllowlist", `name="token"`,
		`<a class="button primary" href="/ui/apps?state=RUNNING">Try again</a>`} {
		if !strings.Contains(page, s) {
			t.Errorf("the page does not say %q:\n%s", s, page)
		}
	}
	for _, found := range checkHTML(page) {
		t.Errorf("HTML of the page: %s", found)
	}
	if page = b.ask("GET", "/ui/login", "").Body.String(); strings.Contains(page, "ticket") {
		t.Errorf("the login form speaks of tickets:\n%s", page)
	}
}

// TestKerberosGoesOn checks that a long request goes on with the ticket that began it, until the
// login expires.
func TestKerberosGoesOn(t *testing.T) {
	var late atomic.Int64 // the server's jobs read the clock, too
	b := kerberosBench(t, auth.Optional,
		func() time.Time { return time.UnixMilli(clusterTime).Add(time.Duration(late.Load())) })
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

// TestTokenOfProxyUser checks that who has a delegation token of a proxy user cannot act for others:
// jobs have such tokens, and only a ticket proves that the proxy user itself asks.
func TestTokenOfProxyUser(t *testing.T) {
	b := kerberosBench(t, auth.Required, clusterClock)
	for _, query := range []string{"", "?doAs=boss", "?DOAS=boss"} {
		r, err := identified(b, "/v1/access"+query, auth.TokenHeader, "token of knox")
		if p := auth.Of(r); err != nil || p.Name != "knox" || p.Role != yarn.RoleSubmit || p.Real != "" || !p.Delegated {
			t.Errorf("%q: the caller is %+v, %v", query, p, err)
		}
	}
}

// TestDoAsNobody checks that a proxy user whose request names nobody does not act as itself.
func TestDoAsNobody(t *testing.T) {
	b := kerberosBench(t, auth.Required, clusterClock)
	h := http.Header{}
	r := asked("GET", "/v1/access?doAs=boss", "")
	r.Header.Set("Authorization", ticketOf(2))
	r, err := b.s.guard.Identify(h, r, false)
	if p := auth.Of(r); err != nil || p.Name != "boss" || p.Real != "knox" || p.Role != yarn.RoleOperator ||
		p.String() != "kerberos knox@TEST for boss" {
		t.Fatalf("the caller is %+v, %v", p, err)
	}
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	for query, want := range map[string]string{"": "knox", "?do%41s=ann": "ann", "?x;doAs=ann": "ann", "?doAs": "",
		"?doAs=": "", "?doAs=&doAs=ann": "", "?doAs=%": "", "?doAs=%00": ""} {
		r, err := identified(b, "/v1/access"+query, "Cookie", cookie)
		if p := auth.Of(r); p.Name != want || (err == nil) != (want != "") {
			t.Errorf("%q: the caller is %+v, %v", query, p, err)
		}
	}
}

// TestEmptyName checks that a principal whose rule makes an empty name is not a user.
func TestEmptyName(t *testing.T) {
	b := kerberosBench(t, auth.Required, clusterClock)
	if r, err := identified(b, "/v1/access", "Authorization", ticketOf(3)); err == nil {
		t.Errorf("the caller is %+v", auth.Of(r))
	}
}

// TestTokenGoesOn checks that a long request ends with the delegation token that began it.
func TestTokenGoesOn(t *testing.T) {
	var late atomic.Int64
	b := kerberosBench(t, auth.Required, func() time.Time { return clusterClock().Add(time.Duration(late.Load())) })
	read := auth.Access{Class: auth.ClassRead, Least: yarn.RoleRead}
	r, err := identified(b, "/v1/events", auth.TokenHeader, "token of ann")
	if err == nil {
		err = b.s.guard.StillMay(r, false, read)
	}
	if err != nil {
		t.Fatal(err)
	}
	late.Store(int64(time.Hour))
	if err := b.s.guard.StillMay(r, false, read); err == nil {
		t.Error("it goes on although the token ran out")
	}
}

func clusterClock() time.Time { return time.UnixMilli(clusterTime) }

// identified returns a request with one header after the guard has identified its caller.
func identified(b *bench, path, name, value string) (*http.Request, error) {
	r := asked("GET", path, "")
	r.Header.Set(name, value)
	return b.s.guard.Identify(http.Header{}, r, false)
}

// TestNameOfStranger checks whose user.name is believed where YARN's ports ask for a proof: only that of
// a caller with a role.
func TestNameOfStranger(t *testing.T) {
	for _, proof := range []bool{false, true} {
		b := guardedBench(t, func(c *Config) { c.Hadoop.Proof = proof })
		stranger := "ann"
		if proof {
			stranger = ""
		}
		for from, want := range map[string]string{"10.0.0.1:40000": stranger, "127.0.0.1:40000": stranger} {
			r := asked("POST", "/ws/v1/cluster/apps?user.name=ann", "")
			r.RemoteAddr = from
			r, err := b.s.guard.Identify(http.Header{}, r, false)
			if got := auth.YARNUser(r); got != want || err != nil {
				t.Errorf("proof %v, from %s: the user is %q, want %q, %v", proof, from, got, want, err)
			}
		}
		r, err := identified(b, "/ws/v1/cluster/apps?user.name=ann", "Authorization", bearer("operator")[1])
		if got := auth.YARNUser(r); got != "ann" || err != nil {
			t.Errorf("proof %v, an operator acts for %q, %v", proof, got, err)
		}
	}
}
