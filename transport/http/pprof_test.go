package httpserver

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"rmd/api"
)

func profiles(c *Config) { c.Profiles = true }

// TestProfilesAreOff checks that without the setting every profile answers NOT_AVAILABLE, and that
// the answer names the setting.
func TestProfilesAreOff(t *testing.T) {
	b := newBench(t, nil)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1"} {
		if e := b.fails(501, api.CodeNotAvailable, "GET", path, ""); !strings.Contains(e.Remedy, "http.pprof") {
			t.Errorf("GET %s: remedy %q, want it to name http.pprof", path, e.Remedy)
		}
	}
}

// TestProfilesNeedLoopbackAdmin checks that profiles need a connection over loopback at both ends,
// and the role admin once there are tokens.
func TestProfilesNeedLoopbackAdmin(t *testing.T) {
	b := guardedBench(t, profiles)
	for _, c := range []struct {
		local, remote, role string
		status              int
	}{
		{"127.0.0.1:8088", "127.0.0.1:4", "admin", 200},
		{"[::1]:8088", "[::1]:4", "admin", 200},
		{"127.0.0.1:8088", "127.0.0.1:4", "operator", 403},
		{"127.0.0.1:8088", "127.0.0.1:4", "", 401},
		{"10.0.0.1:8088", "10.0.0.9:4", "admin", 403},
		{"127.0.0.1:8088", "10.0.0.9:4", "admin", 403},
		{"10.0.0.1:8088", "127.0.0.1:4", "admin", 403},
	} {
		r := asked("GET", "/debug/pprof/goroutine?debug=1", c.role)
		addr, err := net.ResolveTCPAddr("tcp", c.local)
		if err != nil {
			t.Fatal(err)
		}
		r = r.WithContext(contextWithLocal(r, addr))
		r.RemoteAddr = c.remote
		w := httptest.NewRecorder()
		b.s.Handler().ServeHTTP(w, r)
		if w.Code != c.status || strings.Contains(w.Body.String(), "goroutine profile") != (c.status == 200) {
			t.Errorf("goroutine profile from %s to %s as %q: status %d, want %d (the profile only with 200): %.100s",
				c.remote, c.local, c.role, w.Code, c.status, w.Body)
		}
	}
}

// TestProfilesAnswer checks each kind of profile and the limits of its parameters.
func TestProfilesAnswer(t *testing.T) {
	b := newBench(t, profiles)
	for path, says := range map[string]string{"/debug/pprof/": "full goroutine stack dump",
		"/debug/pprof/cmdline": ".test", "/debug/pprof/symbol": "num_symbols", "/debug/pprof/heap?debug=1": "heap profile"} {
		if w := b.ask("GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), says) {
			t.Errorf("GET %s: status %d, want 200 and %q in the body: %.200s", path, w.Code, says, w.Body)
		}
	}
	for _, path := range []string{"/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=1"} {
		if w := b.ask("GET", path, ""); w.Code != 200 || w.Body.Len() < 100 {
			t.Errorf("GET %s: status %d, %d bytes, want 200 and at least 100 bytes",
				path, w.Code, w.Body.Len())
		}
	}
	if w := b.ask("GET", "/debug/pprof", ""); w.Code != 302 || w.Header().Get("Location") != "/debug/pprof/" {
		t.Errorf("GET /debug/pprof: status %d to %q, want 302 to /debug/pprof/",
			w.Code, w.Header().Get("Location"))
	}
	if w := b.ask("GET", "/debug/pprof/nothing", ""); w.Code != 404 {
		t.Errorf("an unknown profile: %d", w.Code)
	}
	b.fails(400, api.CodeInvalidRequest, "GET", "/debug/pprof/profile?seconds=61", "")
	b.fails(400, api.CodeInvalidRequest, "GET", "/debug/pprof/profile?seconds=-1", "")
	b.fails(405, api.CodeMethodNotAllowed, "POST", "/debug/pprof/symbol", "x")
}
