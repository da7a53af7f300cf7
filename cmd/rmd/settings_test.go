package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rmd/config"
)

// effects names for each key of rmd.yaml the test in this folder that sees its effect on real
// processes. A key whose value has no effect is worse than none: an operator relies on it.
var effects = map[string]string{
	"id": "TestRefusals", "cluster": "TestStrangers", "data": "TestDamage", "standby": "TestHadoopStandby",
	"raft.listen": "TestInitReplicas", "raft.advertise": "TestRefusals", "raft.bootstrap_expect": "TestCatchUp", "raft.join": "TestInitReplicas",
	"raft.heartbeat": "TestFreezeLeader", "raft.election": "TestFreezeLeader", "raft.lease": "TestStopWithFrozenFollowers",
	"raft.snapshot_threshold": "TestCatchUp", "raft.snapshot_interval": "TestCatchUp", "raft.trailing": "TestCatchUp",
	"tls.ca": "TestCertificatesInUse", "tls.cert": "TestCertificatesInUse", "tls.key": "TestCertificatesInUse",
	"http.listen": "TestAccessTokens", "http.listen_tls": "TestCertificatesInUse", "http.auth": "TestCertificatesInUse",
	"http.hosts": "TestSettingsTakeEffect", "http.rate": "TestSettingsTakeEffect", "http.burst": "TestSettingsTakeEffect", "http.pprof": "TestSettingsTakeEffect",
	"hadoop.conf_dir": "TestHadoopAdministration", "hadoop.connections": "TestAttack",
	"log.level": "TestSettingsTakeEffect", "log.format": "TestSettingsTakeEffect",
	"disk.stop": "TestSettingsTakeEffect", "disk.reserve": "TestSettingsTakeEffect",
	"autopilot.cleanup_dead_servers": "TestAutopilotCleanup", "autopilot.dead_server_last_contact_threshold": "TestAutopilotCleanup",
	"autopilot.min_quorum": "TestAutopilotCleanup", "autopilot.last_contact_threshold": "TestAutopilotCleanup",
	"autopilot.server_stabilization_time": "TestMembership",
}

// unseen has the keys without such a test, and why or what sees them instead.
var unseen = map[string]string{
	"raft.sync":                      "it has one value",
	"raft.allow_even":                "it only permits values; config: TestValidation",
	"raft.snapshot_bytes":            "passed on with raft.snapshot_threshold",
	"standby_hold":                   "a time; transport/forward",
	"scheduling":                     "interop/hadooptests runs with both values",
	"http.public_writes":             "needs a second machine; transport/http",
	"http.proxy_allow":               "needs a second machine; transport/http/yarn",
	"http.connections_per_address":   "does not hold for the own machine; transport/http: TestConnectionsPerAddress",
	"hadoop.connections_per_address": "does not hold for the own machine; transport/hadoop/ipc",
	"disk.give_up_after":             "needs a disk that hangs; cluster, and jepsen-lite/sim",
	"disk.exit_after":                "needs a disk that hangs; cluster, and jepsen-lite/sim",
	"autopilot.max_trailing_logs":    "needs a follower that is slow for long; cluster",
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
	c := newProcesses(t, 1, defaults, "  bootstrap_expect: 1\n", "log:\n  level: debug\n  format: json\n")
	p := c.all[0]
	c.reconfigure(p, "http:\n", "http:\n  hosts: [rmd.example]\n  rate: 1\n  burst: 300\n  pprof: true\n")
	c.start(p)
	c.awaitReady(p)
	token := strings.TrimSpace(c.done("access", "token", "create", "-q", "--role", "admin", "--name", "boss")) // callers on this machine without a token are not limited
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
	if good, bad := get("/v1/cluster", "rmd.example"), get("/v1/cluster", "other.example"); good != http.StatusOK || bad < 400 {
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
