package yarnweb

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestProxyReturnsFewHeaders checks that dangerous headers of an AM do not reach the viewer:
// neither in the answer, nor in interim responses, nor in trailers.
func TestProxyReturnsFewHeaders(t *testing.T) {
	hostile := []string{"Set-Cookie", "Service-Worker-Allowed", "Strict-Transport-Security", "Clear-Site-Data",
		"Content-Security-Policy", "Link", "Refresh", "Alt-Svc", "Report-To",
		"Nel", "Www-Authenticate", "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Sourcemap",
		"X-Frame-Options", "Origin-Agent-Cluster", "Public-Key-Pins"}
	h := newFixture(t)
	am := master(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/early" {
			w.Header().Set("Set-Cookie", "early=1")
			w.Header().Set("Link", "</evil.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
		}
		for _, name := range hostile {
			w.Header().Set(name, "evil")
		}
		w.Header().Set("Trailer", "Clear-Site-Data")
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Etag", `"1"`)
		fmt.Fprint(w, "<p>the page")
		w.(http.Flusher).Flush()
		w.Header().Set("Clear-Site-Data", `"*"`)
		w.Header().Set(http.TrailerPrefix+"Set-Cookie", "late=1")
	})
	id := h.registered(am.Host).App.String()
	for _, path := range []string{"/", "/early"} {
		r := h.get("/proxy/"+id+path).want(t, http.StatusOK, "<p>the page")
		for _, name := range hostile {
			if v := r.Header[name]; v != nil && name != "Content-Security-Policy" {
				t.Errorf("GET %s through the proxy: header %s = %v, want none", path, name, v)
			}
		}
		if len(r.Trailer) > 0 {
			t.Errorf("%s: trailers %v", path, r.Trailer)
		}
		if p := r.Header.Values("Content-Security-Policy"); len(p) != 1 || !strings.HasPrefix(p[0], "sandbox ") ||
			strings.Contains(p[0], "allow-same-origin") {
			t.Errorf("%s: policy %v", path, p)
		}
		if r.Header.Get("Content-Type") != "text/html" || r.Header.Get("Etag") != `"1"` {
			t.Errorf("%s: what the page needs is missing: %v", path, r.Header)
		}
	}
}

// TestSandboxedScriptsReadData checks that the scripts of a sandboxed page, whose origin is "null",
// can read data from the proxy without cookies.
func TestSandboxedScriptsReadData(t *testing.T) {
	h := newFixture(t)
	am := master(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	at := "/proxy/" + h.registered(am.Host).App.String() + "/api/v1/executors"
	r := h.get(at, "Origin", "null").want(t, http.StatusOK, "[]")
	if r.Header.Get("Access-Control-Allow-Origin") != "null" || r.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("Access-Control-Allow-Origin %q, -Credentials %q, want null and none",
			r.Header.Get("Access-Control-Allow-Origin"), r.Header.Get("Access-Control-Allow-Credentials"))
	}
	if r := h.get(at, "Origin", "http://elsewhere").want(t,
		http.StatusOK); r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("shared with %v", r.Header)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, h.srv.URL+at, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Origin": {"null"}, "Access-Control-Request-Method": {"GET"},
		"Access-Control-Request-Headers": {"x-requested-with"}}
	asked, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	asked.Body.Close()
	if asked.StatusCode != http.StatusNoContent || asked.Header.Get("Access-Control-Allow-Headers") == "" ||
		strings.Contains(asked.Header.Get("Access-Control-Allow-Methods"), "PUT") {
		t.Errorf("OPTIONS: status %d, headers %v, want 204, Access-Control-Allow-Headers, and no PUT",
			asked.StatusCode, asked.Header)
	}
}

// TestProxyRefusesLocalAddresses checks that the proxy fetches nothing from addresses that only
// this machine can reach.
func TestProxyRefusesLocalAddresses(t *testing.T) {
	open := ServiceConfig{Own: func(at netip.AddrPort) bool { return at.Port() == 8088 }}
	listed := ServiceConfig{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for at, want := range map[string][2]bool{
		"10.1.2.3:80": {true, true}, "192.168.0.1:80": {true, false}, "127.0.0.1:80": {}, "[2001:db8::1]:80": {true, false},
		"[::ffff:10.0.0.1]:80": {true, true},
		"169.254.169.254:80":   {}, "[::ffff:169.254.169.254]:80": {}, "[fe80::1]:80": {}, "[fe80::1%eth0]:80": {},
		"[64:ff9b::a9fe:a9fe]:80": {}, "[2002:a9fe:a9fe::]:80": {},
		"[::169.254.169.254]:80": {}, "0.0.0.0:80": {}, "[::]:80": {}, "224.0.0.1:80": {}, "[ff02::1]:80": {}, "[::1]:80": {},
		"[::ffff:127.0.0.1]:80": {}, "[64:ff9b::7f00:1]:80": {},
		"[fd00:ec2::254]:80": {}, "[fd00:ec2::1]:80": {true, false}, "100.100.100.200:80": {}, "192.0.0.192:80": {},
	} {
		for i, c := range []ServiceConfig{open, listed} {
			if err := c.mayFetch(netip.MustParseAddrPort(at)); (err == nil) != want[i] {
				t.Errorf("%s, config %d: %v", at, i, err)
			}
		}
	}
	if err := open.mayFetch(netip.MustParseAddrPort("[64:ff9b::7f00:1]:8088")); err == nil {
		t.Error("its own port in another form of address")
	}
	h := newFixture(t)
	here := []string{"127.0.0.1", "127.0.0.9", "::1"}
	addrs, _ := net.InterfaceAddrs() // empty on a machine without a network
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
			here = append(here, p.Addr().String())
		}
	}
	for _, node := range append(here, "203.0.113.7", "") {
		c := newFixtureAt(t, node, nil).svc.cfg
		for _, at := range []string{"127.0.0.1:80", "[::1]:80"} {
			if err := c.mayFetch(netip.MustParseAddrPort(at)); (err == nil) != slices.Contains(here, node) {
				t.Errorf("%s, with a NodeManager at %q: %v", at, node, err)
			}
		}
	}
	away := newFixtureAt(t, "203.0.113.7", nil)
	away.get("/proxy/"+away.registered("http://localhost:1/").App.String()).want(t, http.StatusForbidden,
		"no NodeManager runs")
	away.get("/proxy/"+away.registered("http://100.100.100.200/latest").App.String()).want(t,
		http.StatusForbidden, "secrets")
	for _, host := range []string{"169.254.169.254", "[fe80::1]:80", "[::ffff:a9fe:a9fe]:80"} {
		h.get("/proxy/"+h.registered("http://"+host+"/latest").App.String()).want(t, http.StatusForbidden, "link-local")
	}
}

// TestNamesCheckedAtDial checks that the address of a name is checked at each connection, because a
// name may resolve to another address later.
func TestNamesCheckedAtDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := 0
	tr := newTransport(func(netip.AddrPort) error {
		asked++
		return errLocal
	})
	for range 2 {
		if _, err := tr.DialContext(t.Context(), "tcp",
			strings.Replace(l.Addr().String(), "127.0.0.1", "localhost", 1)); err == nil {
			t.Fatal("dialed what is refused")
		}
	}
	if asked < 2 {
		t.Errorf("judged %d times", asked)
	}
}
