package yarnweb

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestProxyFollowsTheAM follows an application from its submission to its end.
func TestProxyFollowsTheAM(t *testing.T) {
	h := newFixture(t)
	am := master(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s as %v with %s", r.Method, r.URL, r.Header["Cookie"], b)
	})
	id := h.app()
	at := "/proxy/" + id.App.String()
	h.get(at+"/jobs").to(t, "/cluster/app/"+id.App.String())
	h.must(&input.RegisterAttempt{Attempt: id, Host: "am", TrackingURL: am.String() + "/ui"})
	h.get(at).want(t, http.StatusOK, "GET /ui as [proxy-user=dr.who]")
	h.get(at+"/").want(t, http.StatusOK, "GET /ui as")
	h.get(at+"/jobs/1?a=b%26c&user.name=ann").want(t, http.StatusOK,
		"GET /ui/jobs/1?a=b%26c&user.name=ann as [proxy-user=ann]")
	h.get("/proxy/redirect/"+id.App.String()+"/jobs").want(t, http.StatusOK, "GET /ui/jobs as")
	h.get(at+"/a%2Fb/c%20d").want(t, http.StatusOK, "GET /ui/a%2Fb/c%20d as")
	h.do(http.MethodPut, at+"/x", "some text").want(t, http.StatusOK, "PUT /ui/x", "with some text")
	h.do(http.MethodHead, at, "").want(t, http.StatusOK)
	if r := h.do(http.MethodPost, at, "x").want(t,
		http.StatusMethodNotAllowed); r.Header.Get("Allow") != "GET, HEAD, PUT" {
		t.Errorf("Allow: %s", r.Header.Get("Allow"))
	}
	h.must(&input.FinishAttempt{Attempt: id, Final: yarn.FinalSucceeded, TrackingURL: "history:19888/jobhistory"})
	h.get(at+"/job/1?x=y").to(t, "http://history:19888/jobhistory/job/1?x=y")

	killed := h.app()
	h.must(&input.KillApplication{ID: killed.App})
	h.get("/proxy/"+killed.App.String()).to(t, "/cluster/app/"+killed.App.String())
}

// TestProxyUnknownApplication checks the answers for malformed and unknown application ids.
func TestProxyUnknownApplication(t *testing.T) {
	h := newFixture(t)
	unknown := yarn.ApplicationID{ClusterTimestamp: 1, Seq: 2}.String()
	h.get("/proxy/"+unknown).want(t, http.StatusNotFound, "Application "+unknown+" could not be found in RM.")
	for _, path := range []string{"/proxy/", "/proxy/redirect/", "/proxy/nothing/x",
		"/proxy/" + strings.Repeat("x", 5000)} {
		if r := h.get(path).want(t, http.StatusNotFound, "is not an application"); len(r.body) > 200 {
			t.Errorf("%d bytes are said of %.20s", len(r.body), path)
		}
	}
	id := h.registered("")
	h.hidden = true // this replica is behind: it must ask the leader first
	h.get("/proxy/"+id.App.String()).to(t, "/cluster/app/"+id.App.String())
	h.readErr = errNoLeader
	h.get("/proxy/"+unknown).want(t, http.StatusServiceUnavailable, "no leader")
}

// TestProxyPassesFewHeaders checks that an AM, which any user can write, learns nothing about its
// viewer but the name.
func TestProxyPassesFewHeaders(t *testing.T) {
	h := newFixture(t)
	var got http.Header
	am := master(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header().Set("Content-Type", "text/x-page")
		w.WriteHeader(http.StatusTeapot)
	})
	id := h.registered(am.Host) // without scheme
	r := h.get("/proxy/"+id.App.String()+"/?user.name=a%22b%3B", "Accept", "text/x-page", "User-Agent", "curl/8",
		"Origin", "http://o",
		"Authorization", "Basic secret", "Cookie", "session=secret", "X-Forwarded-For", "1.2.3.4", "Referer",
		"http://secret/", "X-Rmd-User", "root",
		"Connection", "Upgrade", "Upgrade", "websocket").want(t, http.StatusTeapot)
	if r.Header.Get("Content-Type") != "text/x-page" {
		t.Errorf("the page is told as %s", r.Header.Get("Content-Type"))
	}
	for name := range got {
		if !passed[name] && name != "Cookie" && name != ProxiedHeader {
			t.Errorf("%s: %v was passed on", name, got[name])
		}
	}
	if got.Get("Accept") != "text/x-page" || got.Get("User-Agent") != "curl/8" || got.Get("Origin") != "http://o" {
		t.Errorf("headers %v", got)
	}
	if c := got["Cookie"]; len(c) != 1 || c[0] != "proxy-user=a%22b%3B" {
		t.Errorf("cookies %v", c)
	}
}

// TestProxyRewritesRedirects checks that redirects of an AM lead to the proxy, except those to
// other hosts.
func TestProxyRewritesRedirects(t *testing.T) {
	h := newFixture(t)
	var location string
	am := master(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	})
	id := h.registered(am.String() + "/base/").App.String()
	own := "/proxy/" + id
	for to, want := range map[string]string{
		am.String() + "/base/jobs?a=b#c": own + "/jobs?a=b#c",
		am.String() + "/mapreduce":       own + "/mapreduce",
		"/base/jobs/":                    own + "/jobs/",
		"other":                          own + "/other", // relative to /base/here
		am.String() + own + "/jobs":      own + "/jobs",  // Spark knows its path in the proxy
		"http://elsewhere/x":             "http://elsewhere/x",
		"javascript:alert(1)":            "",
		"http://[::1":                    "",
	} {
		location = to
		if r := h.get(own + "/here"); r.StatusCode != http.StatusFound || r.Header.Get("Location") != want {
			t.Errorf("%s leads to %q (%d), not to %q", to, r.Header.Get("Location"), r.StatusCode, want)
		}
	}
}

// TestProxyLoops checks that the proxy breaks every loop of redirects that an AM can make.
func TestProxyLoops(t *testing.T) {
	h := newFixture(t)
	var back string
	am := master(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, back, http.StatusFound) })
	id := h.registered(am.String()).App.String()
	back = "http://rm2:8088/proxy/redirect/" + id + "/jobs" // as a filter in an AM that does not know this replica
	h.get("/proxy/"+id+"/jobs").want(t, http.StatusLoopDetected, "sends its viewers back")
	h.get("/proxy/redirect/"+id+"/jobs").want(t, http.StatusLoopDetected)

	self := h.app()
	h.must(&input.RegisterAttempt{Attempt: self, Host: "am", TrackingURL: h.srv.URL + "/proxy/" + self.App.String() + "/"})
	h.get("/proxy/"+self.App.String()+"/x").want(t, http.StatusLoopDetected, "a ResourceManager's proxy")
	h.must(&input.FinishAttempt{Attempt: self, Final: yarn.FinalSucceeded})
	h.get("/proxy/"+self.App.String()+"/x").to(t, "/cluster/app/"+self.App.String())
}

// TestProxyDoesNotCallItself checks that an AM cannot direct viewers' requests to this replica,
// where they would have the rights of this machine.
func TestProxyDoesNotCallItself(t *testing.T) {
	var own netip.AddrPort
	h := newFixture(t, func(at netip.AddrPort) bool { return at == own })
	called := 0
	private := master(t, func(http.ResponseWriter, *http.Request) { called++ })
	own = netip.MustParseAddrPort(private.Host)
	for _, host := range []string{private.Host, "localhost:" + private.Port(), "[::ffff:127.0.0.1]:" + private.Port()} {
		id := h.registered("http://" + host + "/v1/cluster").App.String()
		h.do(http.MethodPut, "/proxy/"+id+"/x", "{}").want(t, http.StatusLoopDetected, "an address of this replica")
	}
	if called > 0 {
		t.Errorf("it was called %d times", called)
	}
}

// TestHostileTrackingURLs checks that invalid addresses are not followed, and that the proxy
// answers with an error if a valid one cannot be fetched.
func TestHostileTrackingURLs(t *testing.T) {
	h := newFixture(t)
	for _, text := range []string{"file:///etc/passwd", "javascript://x/%0aalert(1)", "ftp://h/", "gopher://h:70/",
		"http://", "http://:80/", "https:///x",
		"http://a b/", "http://h\r\nX: y/", "://", "N/A", "n/a", "http://h:port/", "http://[::1/",
		"http://" + strings.Repeat("h", trackingMax)} {
		if u := trackingURL(text); u != nil {
			t.Errorf("%.60q is taken for %s", text, u)
		}
	}
	for text, want := range map[string]string{
		"http://ann:secret@h:1/x": "http://h:1/x", "h:1": "http://h:1", "h": "http://h",
		"HTTPS://h/%2e%2e/": "https://h/%2e%2e/", "//h/x": "",
	} {
		got := ""
		if u := trackingURL(text); u != nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
	base, _ := url.Parse("http://h/a/b")
	if got := subURL(base, "../../../../x", "q").String(); got != "http://h/x?q" {
		t.Errorf("above the root is %s", got)
	}
	id := h.registered("file:///etc/passwd").App
	h.get("/proxy/"+id.String()).to(t, "/cluster/app/"+id.String())
	gone := h.registered("127.0.0.1:1").App
	h.get("/proxy/"+gone.String()).want(t, http.StatusBadGateway,
		"the page of the ApplicationMaster at 127.0.0.1:1 cannot be shown")
	over := h.registered("javascript:alert(1)")
	h.must(&input.FinishAttempt{Attempt: over, Final: yarn.FinalSucceeded})
	h.get("/proxy/"+over.App.String()).to(t, "/cluster/app/"+over.App.String())
	am := master(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	h.do(http.MethodPut, "/proxy/"+h.registered(am.Host).App.String(), strings.Repeat("x", bodyMax+1)).want(t,
		http.StatusRequestEntityTooLarge)
}

// TestBrokenPages checks that the service survives when an AM breaks the connection or changes the
// protocol.
func TestBrokenPages(t *testing.T) {
	h := newFixture(t)
	am := master(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/switch":
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		case "/cut":
			panic(http.ErrAbortHandler)
		}
	})
	id := h.registered(am.Host).App.String()
	h.get("/proxy/"+id+"/cut").want(t, http.StatusBadGateway)
	h.get("/proxy/"+id+"/switch", "Connection", "Upgrade", "Upgrade", "websocket").want(t, http.StatusBadGateway)
	h.get("/proxy/"+id+"/good").want(t, http.StatusOK)
}
