package httpserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/transport/http/auth"
)

func TestHostCheck(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Hosts = []string{"RM1.example.com"} })
	for host, ok := range map[string]bool{"127.0.0.1:8088": true, "localhost:8088": true, "[::1]:8088": true,
		"10.1.2.3": true, "rm1.example.com:8088": true, "rm1.example.com": true,
		"evil.example": false, "evil.example:8088": false, "127.0.0.1.evil.example": false} {
		w := b.ask("GET", "/v1/health", "", "Host", host)
		if (w.Code == 200) != ok {
			t.Errorf("GET /v1/health with Host %s: status %d, accepted %t, want %t: %s",
				host, w.Code, w.Code == 200, ok, w.Body)
		}
	}
	b.fails(421, api.CodeHostNotAllowed, "POST", "/v1/apps", "{}", "Host", "evil.example")
	b = newBench(t, func(c *Config) { c.Hosts = []string{"*"} })
	b.into(200, nil, "GET", "/v1/health", "", "Host", "evil.example")
}

// TestProxiedIsRefused checks that the API refuses requests that came through the proxy to
// ApplicationMasters.
func TestProxiedIsRefused(t *testing.T) {
	b := newBench(t, nil)
	b.fails(403, api.CodeNotAllowed, "POST", "/v1/apps/"+app1+":kill", "", "Rmd-Proxied", "1")
	b.fails(403, api.CodeNotAllowed, "GET", "/v1/apps", "", "Rmd-Proxied", "1")
}

// TestCrossSite checks that a page of another site cannot change anything, but a program can.
func TestCrossSite(t *testing.T) {
	b := newBench(t, nil)
	kill := "/v1/apps/" + app1 + ":kill"
	b.fails(403, api.CodeNotAllowed, "POST", kill, "", "Sec-Fetch-Site", "cross-site")
	b.fails(403, api.CodeNotAllowed, "POST", kill, "", "Origin", "http://evil.example")
	b.into(200, nil, "POST", kill, "", "Sec-Fetch-Site", "same-origin")
	b.into(200, nil, "POST", kill, "", "Origin", "http://127.0.0.1:8088")
	b.into(200, nil, "GET", "/v1/apps", "", "Sec-Fetch-Site", "cross-site")
}

// reach is a way to reach the server.
type reach struct {
	local, remote string
	tls           bool
	uri           string // URI in a verified client certificate; "-" is a certificate without one
	header        []string
}

func (c reach) request(t testing.TB, method, path, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "127.0.0.1:8088", c.remote
	addr, err := net.ResolveTCPAddr("tcp", c.local)
	if err != nil {
		t.Fatal(err)
	}
	r = r.WithContext(contextWithLocal(r, addr))
	r.TLS = nil
	if c.tls {
		r.TLS = &tls.ConnectionState{}
	}
	if c.uri != "" {
		leaf := &x509.Certificate{}
		if u, err := url.Parse(c.uri); err == nil && c.uri != "-" {
			leaf.URIs = []*url.URL{u}
		}
		r.TLS.VerifiedChains = [][]*x509.Certificate{{leaf}}
	}
	for i := 0; i+1 < len(c.header); i += 2 {
		r.Header.Set(c.header[i], c.header[i+1])
	}
	return r
}

// TestChangesBeforeThereIsAToken checks who may make changes before there is an access token:
// callers on this machine, and callers with a certificate that contains a role. TLS alone is not
// enough, and headers about the origin of a request do not count.
func TestChangesBeforeThereIsAToken(t *testing.T) {
	const here, far = "127.0.0.1:8088", "10.0.0.9:4"
	callers := map[string]struct {
		reach
		may bool
	}{
		"this machine":          {reach{local: here, remote: "127.0.0.1:4"}, true},
		"this machine, IPv6":    {reach{local: "[::1]:8088", remote: "[::1]:4"}, true},
		"this machine over TLS": {reach{local: here, remote: "127.0.0.1:4", tls: true}, true},
		"an administrator elsewhere": {reach{local: "10.0.0.1:8090", remote: far, tls: true,
			uri: "rmd://prod/role/admin/alice"}, true},
		"plain HTTP":                   {reach{local: "10.0.0.1:8088", remote: far}, false},
		"TLS":                          {reach{local: "10.0.0.1:8090", remote: far, tls: true}, false},
		"a certificate without a role": {reach{local: "10.0.0.1:8090", remote: far, tls: true, uri: "-"}, false},
		"a role elsewhere": {reach{local: "10.0.0.1:8090", remote: far, tls: true,
			uri: "rmd://other/role/admin/alice"}, false},
		"its own word": {reach{local: "10.0.0.1:8090", remote: far, tls: true,
			header: []string{"X-Forwarded-For", "127.0.0.1", "X-Real-Ip", "127.0.0.1", "Forwarded", "for=127.0.0.1"}}, false},
		"a proxy on this machine": {reach{local: here, remote: "127.0.0.1:4",
			header: []string{"X-Forwarded-For", "10.0.0.9"}}, false},
		"a proxy that says Via": {reach{local: here, remote: "127.0.0.1:4", header: []string{"Via", "1.1 front"}}, false},
	}
	calls := []string{"POST /v1/nodes/sim-01:drain", "POST /v1/access/tokens", "POST /v1/inputs", "PUT /v1/conf",
		"POST /v1/apps", "PUT /ws/v1/cluster/scheduler-conf",
		"GET /v1/snapshot", "GET /v1/access/tokens", "PUT /v1/snapshot", "POST /v1/cluster/members/rm2:remove",
		"POST /v1/cluster:init"}
	for _, mode := range []string{auth.Optional, auth.Required, auth.Off} {
		b := newBench(t, func(c *Config) { c.Auth.Cluster, c.Auth.Mode = "prod", mode })
		for name, c := range callers {
			for _, call := range calls {
				method, path, _ := strings.Cut(call, " ")
				w := httptest.NewRecorder()
				b.s.Handler().ServeHTTP(w, c.request(t, method, path, "{}"))
				may := c.may && (mode != auth.Off || c.uri == "")
				refused := w.Code == http.StatusForbidden || w.Code == http.StatusUnauthorized
				if mode == auth.Required && may && c.uri == "" {
					continue // TestEveryRouteByEveryRole checks the first steps
				}
				if refused == may {
					t.Errorf("authentication %s, %s: %s: status %d, refused %t, want %t: %s",
						mode, name, call, w.Code, refused, !may, w.Body)
				}
			}
		}
		w := httptest.NewRecorder()
		if b.s.Handler().ServeHTTP(w, callers["TLS"].request(t, "GET", "/v1/apps", "")); mode != auth.Required &&
			w.Code != http.StatusOK {
			t.Errorf("%s: a read: %d", mode, w.Code)
		}
	}
}

// TestServe checks the answers and limits of a server over real connections, and Close.
func TestServe(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxConnections = 2 })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- b.s.Serve(l) }()
	url := "http://" + l.Addr().String()
	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Post(url+"/v1/apps/"+app1+":kill", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), `"index":99`) {
		t.Errorf("kill over a connection: status %d, error %v while reading, want 200 and index 99: %s",
			resp.StatusCode, err, body)
	}
	hold, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	third, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if _, err := third.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read from the connection over the limit: %v, want EOF or a reset", err)
	}
	client.CloseIdleConnections()
	hold.Close()
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("serve: %v", err)
	}
	if err := b.s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("serve after close: %v", err)
	}
}

func TestConnectionsPerAddress(t *testing.T) {
	at := func(name string) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, name[0]}), 32)
	}
	l := limitConnections(nil, 10, 2).(*limited)
	for i, want := range []bool{true, true, false} {
		if l.take(at("a"), false) != want {
			t.Errorf("connection %d of one address: want %v; two are allowed", i+1, want)
		}
	}
	if !l.take(at("b"), false) {
		t.Error("another address is refused")
	}
	if l.give(at("a")); !l.take(at("a"), false) {
		t.Error("a closed connection still counts")
	}
	for range 7 {
		if !l.take(at("c"), true) {
			t.Error("loopback is bounded by the total alone")
		}
	}
	if l.take(at("d"), true) {
		t.Error("the eleventh")
	}
}

// TestMetrics checks the metrics of docs/operations/metrics.md that depend on the state.
func TestMetrics(t *testing.T) {
	b := newBench(t, nil)
	b.into(200, nil, "POST", "/v1/apps/"+app1+":kill", "")
	m := b.s.metrics
	m.CountElection()
	m.CountStepDown("raft")
	m.CountDroppedLines(func() uint64 { return 3 })
	m.CountSnapshot("write", "ok")
	m.ObserveIPC("ClientProtocol", "getApps", "OK", 1)
	m.CountHandshake("KERBEROS", "replay")
	m.ObservePlan(beat(1).Input.Kind(), 1)
	b.fails(404, "NO_SUCH_NODE", "GET", "/v1/nodes/nowhere", "")
	b.fails(404, api.CodeNotFound, "GET", "/anything", "")
	m.ObserveHTTP("/proxy", 711, 1)
	body := b.ask("GET", "/metrics", "").Body.String()
	for _, line := range []string{
		`rmd_build_info{version="1.0"} 1`, fmt.Sprintf("rmd_feature_level %d", event.Level), `rmd_raft_leader 1`, `rmd_raft_term 7`,
		`rmd_raft_commit_index 20`, `rmd_raft_applied_index 16`, `rmd_raft_peer_lag{peer="rm2"} 2`,
		`rmd_raft_last_contact_seconds{peer="rm2"} 0.012`, `rmd_apps{queue="root.online",state="RUNNING"} 1`,
		`rmd_apps_waiting{queue="root.batch",reason="AM_LIMIT"} 1`,
		`rmd_queue_resource{kind="reserved",partition="",queue="root.train",resource="memory-mb"} 65536`,
		`rmd_queue_resource{kind="guaranteed",partition="",queue="root",resource="vcores"} 48`,
		`rmd_reservations{queue="root.train"} 1`, `rmd_reservations{queue="root.batch"} 0`,
		`rmd_reservation_age_seconds_sum 60`, `rmd_reserved_idle_resource{resource="yarn.io/gpu"} 2`,
		`rmd_nodes{partition="",state="RUNNING"} 3`, `rmd_nodes_silent{partition=""} 0`, `rmd_nodes_empty{partition=""} 1`,
		`rmd_largest_fit{partition="",resource="memory-mb"} 65536`, `rmd_inputs_total{kind="KillApplication",result="ok"} 1`,
		`rmd_raft_elections_total 1`, `rmd_raft_step_downs_total{cause="raft"} 1`, `rmd_log_lines_dropped_total 3`,
		`rmd_raft_snapshots_total{op="write",result="ok"} 1`,
		`rmd_ipc_handshakes_total{method="KERBEROS",outcome="replay"} 1`,
		`rmd_ipc_requests_total{code="OK",method="getApps",protocol="ClientProtocol"} 1`,
		`rmd_http_seconds_count{code="2xx",route="/v1/apps/{id}:kill"} 1`,
		`rmd_http_seconds_count{code="4xx",route="/v1/nodes/{id}"} 1`, `rmd_http_seconds_count{code="4xx",route="none"} 1`,
		`rmd_http_seconds_count{code="other",route="/proxy"} 1`, `rmd_reservation_cancelled_total{cause="OPERATOR"} 0`,
		`rmd_preempted_total{cause="GUARANTEE"} 0`, `rmd_preempted_unused_total{cause="EXCHANGED"} 0`,
		`rmd_preempted_resource_seconds_total{resource="vcores"} 0`,
		`rmd_preemption_warnings{queue="root.train"} 0`, `rmd_preemption_withdrawn_total{cause="NO_ROOM"} 0`,
		`rmd_state_divergence_total 0`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(body, "application_") || strings.Contains(body, "alice") {
		t.Error("a label carries an application or a user")
	}
}
