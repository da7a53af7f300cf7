package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/config"
	"rmd/internal/exitcode"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// effects names for each key of rmd.yaml the test in this folder that sees its effect on real
// processes. A key whose value has no effect is worse than none: an operator relies on it.
var effects = map[string]string{
	"id": "TestRefusals", "cluster": "TestStrangers", "data": "TestDamage", "standby": "TestHadoopStandby",
	"raft.listen": "TestInitReplicas", "raft.advertise": "TestRefusals", "raft.bootstrap_expect": "TestCatchUp",
	"raft.join":      "TestInitReplicas",
	"raft.heartbeat": "TestFreezeLeader", "raft.election": "TestFreezeLeader", "raft.lease": "TestStopWithFrozenFollowers",
	"raft.snapshot_threshold": "TestCatchUp", "raft.snapshot_interval": "TestCatchUp", "raft.trailing": "TestCatchUp",
	"tls.ca": "TestCertificatesInUse", "tls.cert": "TestCertificatesInUse", "tls.key": "TestCertificatesInUse",
	"http.listen": "TestAccessTokens", "http.listen_tls": "TestCertificatesInUse", "http.auth": "TestCertificatesInUse",
	"http.hosts": "TestSettingsTakeEffect", "http.rate": "TestSettingsTakeEffect", "http.burst": "TestSettingsTakeEffect",
	"http.pprof":      "TestSettingsTakeEffect",
	"hadoop.conf_dir": "TestHadoopAdministration", "hadoop.ports": "TestWitness", "hadoop.connections": "TestAttack",
	"log.level": "TestSettingsTakeEffect", "log.format": "TestSettingsTakeEffect",
	"disk.stop": "TestSettingsTakeEffect", "disk.reserve": "TestSettingsTakeEffect",
	"autopilot.cleanup_dead_servers":               "TestAutopilotCleanup",
	"autopilot.dead_server_last_contact_threshold": "TestAutopilotCleanup",
	"autopilot.min_quorum":                         "TestAutopilotCleanup",
	"autopilot.last_contact_threshold":             "TestAutopilotCleanup",
	"autopilot.server_stabilization_time":          "TestMembership",
	"raft.allow_even":                              "TestEvenVoters", "standby_hold": "TestEvenVoters",
	"raft.snapshot_bytes": "TestSettingsTakeEffect",
	"scheduling":          "TestPortsAndTiming", "http.public_writes": "TestPortsAndTiming",
	"http.proxy_allow":             "TestPortsAndTiming",
	"http.connections_per_address": "TestPortsAndTiming", "hadoop.connections_per_address": "TestPortsAndTiming",
	"disk.give_up_after": "TestHungDisk", "disk.exit_after": "TestHungDisk",
	"autopilot.max_trailing_logs": "TestTrailingLogs",
}

// unseen has the keys without such a test, and why or what sees them instead.
var unseen = map[string]string{
	"raft.sync": "it has one value",
}

// TestEverySettingIsSeen checks that each key is in one of the two tables and in the documentation,
// and that the test that sees it exists and names it.
func TestEverySettingIsSeen(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{} // the text of the file of each test
	common := ""                 // writes the configuration of most tests
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(b), "// effects names") // not the tables
		if name == "settings_test.go" {
			_, text, _ = strings.Cut(string(b), "// TestSettingsTakeEffect")
		}
		if name == "process_test.go" {
			common = text
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(b), -1) {
			tests[m[1]] = text
		}
	}
	for _, key := range config.Keys() {
		if !strings.Contains(string(doc), "`"+key+"`") {
			t.Errorf("settings.md does not describe %s", key)
		}
		test, seen := effects[key]
		if _, why := unseen[key]; seen == why {
			t.Errorf("%s must be in one of the two tables: add the test that sees its effect", key)
		}
		leaf := key[strings.LastIndex(key, ".")+1:]
		if text, ok := tests[test]; seen && (!ok || !strings.Contains(text+common, leaf)) {
			t.Errorf("%s: %s does not exist or does not name it", key, test)
		}
	}
	if n := len(effects) + len(unseen); n != len(config.Keys()) {
		t.Errorf("the tables have %d keys, want %d", n, len(config.Keys()))
	}
}

// TestSettingsTakeEffect starts replicas with settings that are not the defaults, and sees that
// each changes what they do.
func TestSettingsTakeEffect(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 1, defaults, "  bootstrap_expect: 1\n  snapshot_bytes: 1MiB\n  snapshot_interval: 1s\n",
		"log:\n  level: debug\n  format: json\n")
	p := c.all[0]
	c.reconfigure(p, "http:\n", "http:\n  hosts: [rmd.example]\n  rate: 1\n  burst: 300\n  pprof: true\n")
	c.start(p)
	c.awaitReady(p)
	must[*input.SubmitApplicationReply](newCaller(t, c.addrs()),
		&input.SubmitApplication{User: "ann", Queue: "root.batch", Unmanaged: true, Context: make([]byte, 2<<20)})
	c.await("raft.snapshot_bytes: a snapshot long before 8,192 entries", patience, func() bool {
		n, _ := c.metric(p, `rmd_raft_snapshots_total{op="write",result="ok"}`)
		return n > 0
	})
	// callers on this machine without a token are not limited
	token := strings.TrimSpace(c.done("access", "token", "create", "-q", "--role", "admin", "--name", "boss"))
	get := func(path, host string) int {
		q, err := http.NewRequest(http.MethodGet, "http://"+p.http+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = host
		q.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if good, bad := get("/v1/cluster", "rmd.example"),
		get("/v1/cluster", "other.example"); good != http.StatusOK || bad < 400 {
		t.Errorf("http.hosts: %d for a host of the list, %d for another one", good, bad)
	}
	if code := get("/debug/pprof/cmdline", p.http); code == http.StatusNotFound {
		t.Error("http.pprof: 404")
	}
	limited := 0
	for range 2000 {
		if get("/v1/apps", p.http) == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 500 || limited > 1990 {
		t.Errorf("http.rate, http.burst: %d of 2000 requests were refused", limited)
	}
	debug := false
	for line := range strings.Lines(p.logged()) {
		var doc map[string]any
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Errorf("log.format: %q: %v", line, err)
		}
		debug = debug || doc["@level"] == "debug"
	}
	if !debug {
		t.Error("log.level: no line at debug level")
	}
	full := newProcesses(t, 1, defaults, "  bootstrap_expect: 1\n", "disk:\n  reserve: 1000000GiB\n  stop: 1000000GiB\n")
	full.refuses(full.all[0], 71, "disk.stop")
}

// TestPortsAndTiming starts one replica with settings of its ports and of the scheduler, and one
// with the defaults. Each setting must make a difference.
func TestPortsAndTiming(t *testing.T) {
	t.Parallel()
	own := ownAddress(t)
	for name, set := range map[string]bool{"set": true, "defaults": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more, web := "", ""
			if set {
				more, web = "  connections_per_address: 2\nscheduling: heartbeat\n",
					"  proxy_allow: [127.0.0.0/8]\n  public_writes: true\n  connections_per_address: 4\n"
			}
			h := newHadoop(t, 1, more)
			p := h.all[0]
			_, port, _ := strings.Cut(p.http, ":")
			public := net.JoinHostPort(own, port)
			h.reconfigure(p, "  listen: "+p.http+"\n", "  listen: 0.0.0.0:"+port+"\n"+web)
			h.start(p)
			h.awaitReady(p)
			if got := refusesAfter(t, h.at[p].tracker, 2, set); got != set {
				t.Errorf("hadoop.connections_per_address: a third connection is refused: %t", got)
			}
			if got := refusesAfter(t, public, 4, set); got != set {
				t.Errorf("http.connections_per_address: a fifth connection is refused: %t", got)
			}
			page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "here")
			}))
			defer page.Close()
			call := newCaller(t, h.addrs())
			call.node("elsewhere", 8192, "/r")
			am := yarn.AttemptID{App: must[*input.SubmitApplicationReply](call,
				&input.SubmitApplication{User: "ann", Queue: "root.a", Unmanaged: true}).ID, Attempt: 1}
			must[*input.RegisterAttemptReply](call, &input.RegisterAttempt{Attempt: am, Host: "am", TrackingURL: page.URL})
			if got := h.get(p, "/proxy/"+am.App.String()+"/", nil); got != set {
				t.Errorf("http.proxy_allow: the page is shown: %t", got)
			}
			reply := must[*input.AllocateReply](call, &input.Allocate{Attempt: am, Asks: asks(1, 1024)})
			if got := len(reply.Granted) == 0; got != set {
				t.Errorf("scheduling: an ask gets %d containers before a heartbeat of a node", len(reply.Granted))
			}
			token := strings.TrimSpace(h.done("access", "token", "create", "-q", "--role", "admin", "--name", "boss"))
			q, err := http.NewRequest(http.MethodPost, "http://"+public+"/v1/apps/"+am.App.String()+":kill",
				strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Authorization", "Bearer "+token)
			q.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if got := resp.StatusCode < 300; got != set {
				t.Errorf("http.public_writes: a write is answered with %s", resp.Status)
			}
		})
	}
}

// ownAddress returns an IPv4 address of this machine by which it looks to itself like another one. It
// skips the test if there is none.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr().String()
		}
	}
	t.Skip("this machine has only loopback addresses")
	return ""
}

// refusesAfter opens n connections and one more, and reports whether the replica closes that one at
// once. If expected is true it waits longer.
func refusesAfter(t *testing.T, address string, n int, expected bool) bool {
	t.Helper()
	var last net.Conn
	for range n + 1 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		last = c
	}
	within := time.Second
	if expected {
		within = 9 * time.Second // it closes each connection without a request soon after
	}
	_ = last.SetReadDeadline(time.Now().Add(within))
	_, err := last.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestEvenVoters starts two voters, which needs raft.allow_even, and kills one. A call of YARN at the
// other must wait as long as standby_hold says.
func TestEvenVoters(t *testing.T) {
	t.Parallel()
	const hold = 12 * time.Second // three times the default
	h := newHadoop(t, 2, "standby_hold: 12s\n")
	h.refuses(h.all[0], exitcode.Usage, "set raft.allow_even: true")
	for _, p := range h.all {
		h.reconfigure(p, "  bootstrap_expect: 2\n", "  bootstrap_expect: 2\n  allow_even: true\n")
		h.start(p)
	}
	h.awaitReady(h.all...)
	lost := h.leader()
	h.kill(lost)
	rest := h.others(lost)[0]
	h.await("the other has no leader", patience, func() bool {
		var d api.Cluster
		return h.get(rest, "/v1/cluster", &d) && d.Leader == ""
	})
	began := time.Now()
	err := h.call(h.at[rest].client, clientProtocol, "ann", "getClusterMetrics", &proto.GetClusterMetricsRequestProto{},
		&proto.GetClusterMetricsResponseProto{})
	if took := time.Since(began); err == nil || took < hold {
		t.Errorf("standby_hold: a call without a leader was answered after %s: %v", took, err)
	}
}
