package httpserver

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/transport/http/auth"
	"rmd/yarn"
)

func body(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// own holds the headers that a browser sends with a form of one of our pages.
var own = []string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}

func (b *bench) logIn(role, next string) *httptest.ResponseRecorder {
	form := url.Values{"token": {secretFor(role)}, "next": {next}}
	return b.ask("POST", "/ui/login", form.Encode(), own...)
}

func sessionOf(w *httptest.ResponseRecorder) string {
	for _, c := range w.Result().Cookies() {
		if strings.HasPrefix(c.Name, "rmd_session_") {
			return c.Value
		}
	}
	return ""
}

// cookieOf returns the Cookie header of the browser that got w as the answer to its login.
func cookieOf(w *httptest.ResponseRecorder) string { return "rmd_session_rm1=" + sessionOf(w) }

func TestLogin(t *testing.T) {
	b := guardedBench(t, func(c *Config) { c.Auth.Mode = auth.Required })
	w := b.ask("GET", "/ui/apps?state=RUNNING", "")
	if w.Code != 303 || w.Header().Get("Location") != "/ui/login?next=%2Fui%2Fapps%3Fstate%3DRUNNING" {
		t.Fatalf("without a session: %d %v", w.Code, w.Header())
	}
	if w := b.ask("GET", "/ui/live", ""); w.Code != 401 {
		t.Errorf("the stream of a page: %d", w.Code)
	}
	if w := b.ask("GET", "/ui/static/rmd.css", ""); w.Code != 200 {
		t.Errorf("the style sheet: %d", w.Code)
	}
	page := b.ask("GET", w.Header().Get("Location"), "")
	if page.Code != 200 || !strings.Contains(page.Body.String(), `value="/ui/apps?state=RUNNING"`) ||
		!strings.Contains(page.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("login page: status %d, headers %v, want 200, a form that keeps next and default-src 'none': %s",
			page.Code, page.Header(), page.Body)
	}
	in := b.logIn("read", "/ui/apps?state=RUNNING")
	cookie := in.Result().Cookies()[0]
	if in.Code != 303 || in.Header().Get("Location") != "/ui/apps?state=RUNNING" || !cookie.Secure || !cookie.HttpOnly ||
		cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge <= 0 ||
		strings.Contains(cookie.Value, "secret") || len(cookie.Value) < 40 {
		t.Fatalf("login: status %d, headers %v, want 303 to the page asked for, and a safe session cookie",
			in.Code, in.Header())
	}
	if w := b.ask("GET", "/ui/", "", "Cookie", cookieOf(in)); w.Code != 200 {
		t.Errorf("with a session: %d %s", w.Code, w.Body)
	}
	if w := b.ask("GET", "/ui/login", "", "Cookie", cookieOf(in)); !strings.Contains(w.Body.String(),
		"You are read, with the role read") {
		t.Errorf("login page of a logged-in user does not say who it is: %s", w.Body)
	}
	b.fails(401, api.CodeUnauthenticated, "GET", "/v1/apps", "", "Cookie", cookieOf(in)) // the API takes no cookie
	for _, link := range []string{"/v1/audit", "/v1/events", "/metrics", "/conf"} {
		for site, want := range map[string]int{"same-origin": 200, "cross-site": 401, "none": 401} {
			if w := b.ask("GET", link, "", "Cookie", cookieOf(in), "Sec-Fetch-Site", site, "Sec-Fetch-Mode",
				"navigate"); w.Code != want {
				t.Errorf("the link %s from %s: %d, want %d", link, site, w.Code, want)
			}
		}
	}
	for _, bad := range []string{"forged", ""} {
		if w := b.logIn(bad, "/ui/"); w.Code != 401 || sessionOf(w) != "" ||
			!strings.Contains(w.Body.String(), `role="alert"`) {
			t.Errorf("login with token %q: status %d, headers %v, want 401, no session and an alert",
				bad, w.Code, w.Header())
		}
	}
	if w := b.ask("GET", "/ui/", "", "Cookie", "rmd_session_rm1=forged"); w.Code != 303 {
		t.Errorf("a forged session: %d", w.Code)
	}
}

// TestASessionEnds checks that a session ends with a logout, when its time is over, and when its
// token is revoked.
func TestASessionEnds(t *testing.T) {
	var passed atomic.Int64 // seconds
	clock := func() time.Time { return time.UnixMilli(clusterTime).Add(time.Duration(passed.Load()) * time.Second) }
	b := guardedBench(t, func(c *Config) {
		c.Auth.Mode, c.Auth.SessionLife = auth.Required, time.Minute
		c.Now = clock
	})
	status := func(cookie string) int { return b.ask("GET", "/ui/", "", "Cookie", cookie).Code }
	first, second, third := cookieOf(b.logIn("operator", "")), cookieOf(b.logIn("operator", "")),
		cookieOf(b.logIn("read", ""))
	if w := b.ask("POST", "/ui/logout", "", "Cookie", first); w.Code != 403 || status(first) != 200 {
		t.Errorf("logged out by a request that no page has sent: %d", w.Code)
	}
	w := b.ask("POST", "/ui/logout", "", append(own, "Cookie", first)...)
	if w.Code != 303 || w.Result().Cookies()[0].MaxAge >= 0 || status(first) != 303 || status(second) != 200 {
		t.Errorf("logged out: %d %v", w.Code, w.Header())
	}
	b.h.apply(t, &event.AccessTokenRevoked{Name: "read"})
	if status(third) != 303 || status(second) != 200 {
		t.Error("the token is revoked, its session goes on")
	}
	b.h.apply(t, tokenEvent("again", yarn.RoleRead, clusterTime+1))
	passed.Add(61)
	if status(second) != 303 {
		t.Error("the session is older than it may be")
	}
}

// TestForgedForms checks that the pages accept a form with a session cookie only from one of our
// own pages.
func TestForgedForms(t *testing.T) {
	b := guardedBench(t, nil)
	cookie := cookieOf(b.logIn("operator", ""))
	post := func(header ...string) *httptest.ResponseRecorder {
		return b.ask("POST", "/ui/nodes/sim-01:8041", "action=drain&token=x",
			append([]string{"Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie}, header...)...)
	}
	for name, header := range map[string][]string{
		"nothing told": nil, "another site": {"Sec-Fetch-Site", "cross-site"}, "a sibling": {"Sec-Fetch-Site", "same-site"},
		"typed":          {"Sec-Fetch-Site", "none"},
		"another origin": {"Origin", "https://evil.example"}, "a sandbox": {"Origin", "null"},
	} {
		if w := post(header...); w.Code != 403 {
			t.Errorf("form post, %s: status %d, want 403: %s", name, w.Code, w.Body)
		}
	}
	login := url.Values{"token": {secretFor("read")}}.Encode()
	if w := b.ask("POST", "/ui/login", login, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site",
		"cross-site"); w.Code != 403 || sessionOf(w) != "" {
		t.Errorf("logged in by another site: %d", w.Code)
	}
	// A call that a page makes has the role of the page's session.
	r := asked("POST", "/ui/x", "")
	for i := 0; i < len(own); i += 2 {
		r.Header.Set(own[i], own[i+1])
	}
	r.Header.Set("Cookie", cookie)
	r, err := b.s.guard.Identify(http.Header{}, r, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.s.mux.Call(r, "POST", "/v1/nodes/sim-01:8041:drain", nil, api.Drain{}, nil); err != nil {
		t.Errorf("an operator's own page: %v", err)
	}
	if err := b.s.mux.Call(r, "PUT", "/v1/autopilot", nil, api.Autopilot{}, nil); err == nil {
		t.Error("an operator has set what is an administrator's")
	}
	if err := b.s.mux.Call(asked("POST", "/ui/x", ""), "POST", "/v1/nodes/sim-01:8041:drain", nil, api.Drain{},
		nil); err == nil {
		t.Error("nobody has drained a node")
	}
}

func TestLoginRefusedOverPlainHTTP(t *testing.T) {
	b := guardedBench(t, nil)
	r := asked("POST", "/ui/login", "")
	r = r.WithContext(contextWithLocal(r, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 8088}))
	r.RemoteAddr, r.Body = "10.0.0.9:5", body("token="+secretFor("read"))
	r.Header.Set("Content-Type", own[1])
	w := httptest.NewRecorder()
	if b.s.Handler().ServeHTTP(w, r); w.Code != 403 || sessionOf(w) != "" {
		t.Errorf("login over plain HTTP: status %d, session %q, want 403 and no session: %s",
			w.Code, sessionOf(w), w.Body)
	}
}
