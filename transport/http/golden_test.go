package httpserver

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rmd/fsm/event"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files again; read the diff")

const app1, app2, app3, app4 = "application_1780000000000_0001", "application_1780000000000_0002",
	"application_1780000000000_0003", "application_1780000000000_0004"

// golden lists the reads whose whole answers are in testdata/golden.
var golden = []struct{ file, path string }{
	{"health.json", "/v1/health"}, {"jobs.json", "/v1/jobs"}, {"cluster.json", "/v1/cluster"},
	{"members.json", "/v1/cluster/members"}, {"verify.json", "/v1/cluster/verify"},
	{"autopilot.json", "/v1/autopilot"}, {"upgrade.json", "/v1/upgrade"}, {"snapshots.json", "/v1/snapshots"},
	{"apps.json", "/v1/apps"}, {"app.json", "/v1/apps/" + app1}, {"explain.json", "/v1/apps/" + app3 + "/explain"},
	{"containers.json", "/v1/apps/" + app1 + "/containers"},
	{"attempts.json", "/v1/apps/" + app1 + "/attempts"}, {"asks.json", "/v1/apps/" + app2 + "/asks"},
	{"nodes.json", "/v1/nodes"}, {"node.json", "/v1/nodes/sim-01:8041"}, {"placement.json", "/v1/nodes/sim-01/placement"},
	{"queues.json", "/v1/queues"}, {"queue.json", "/v1/queues/root.online"}, {"reservations.json", "/v1/reservations"},
	{"reservation.json", "/v1/reservations/r1"}, {"preemption.json", "/v1/preemption"},
	{"conf.json", "/v1/conf"}, {"conf_versions.json", "/v1/conf/versions"}, {"conf_version.json", "/v1/conf/versions/1"},
	{"conf_diff.json", "/v1/conf/versions/1/diff/2"}, {"log.json", "/v1/log?from=1&count=50"},
	{"ws_info.json", "/ws/v1/cluster/info"}, {"ws_metrics.json", "/ws/v1/cluster/metrics"},
	{"ws_scheduler.json", "/ws/v1/cluster/scheduler"}, {"ws_nodes.json", "/ws/v1/cluster/nodes"},
	{"ws_node.json", "/ws/v1/cluster/nodes/sim-01:8041"}, {"ws_apps.json", "/ws/v1/cluster/apps"},
	{"ws_app.json", "/ws/v1/cluster/apps/" + app1},
	{"ws_attempts.json", "/ws/v1/cluster/apps/" + app1 + "/appattempts"},
	{"ws_statistics.json", "/ws/v1/cluster/appstatistics"},
	{"ws_info.xml", "/ws/v1/cluster/info"}, {"ws_nodes.xml", "/ws/v1/cluster/nodes"},
	{"ws_scheduler.xml", "/ws/v1/cluster/scheduler"}, {"ws_app.xml", "/ws/v1/cluster/apps/" + app3},
}

func TestGolden(t *testing.T) {
	b := newBench(t, nil)
	for _, g := range golden {
		t.Run(g.file, func(t *testing.T) { b.golden(t, g.file, g.path) })
	}
}

// TestSecretsInNoAnswer looks for the keys of AMs' clients, and for the passwords of applications'
// tokens, in documents and pages.
func TestSecretsInNoAnswer(t *testing.T) {
	b := newBench(t, nil)
	secret := []event.AppToken{{Kind: "HDFS_DELEGATION_TOKEN", Service: "nn:8020", Identifier: []byte(clientKey),
		Password: []byte(clientKey)}}
	b.h.apply(t, &event.TokensAdded{App: 3, Tokens: secret, Conf: []byte(clientKey)},
		&event.TokensReplaced{Apps: []uint32{3}, Tokens: secret, Credentials: []byte(clientKey)},
		&event.TokenCallFailed{Token: 2, Why: "refused"})
	paths := []string{"/v1/apps/" + app1 + "/events?count=100", "/v1/events?count=100", "/v1/audit",
		"/v1/log?from=1&count=50&kind=AttemptRegistered&why", "/metrics", "/jmx", "/conf",
		"/v1/log?from=1&count=50&kind=TokensAdded&why", "/v1/log?from=1&count=50&kind=TokensReplaced",
		"/v1/apps/" + app3 + "/events?count=100", "/ui/apps/" + app3,
		"/v1/tokens", "/ui/", "/ui/apps", "/ui/apps/" + app1, "/ui/events"}
	for _, g := range golden {
		paths = append(paths, g.path)
	}
	decimal := strings.Trim(fmt.Sprint([]byte(clientKey)), "[]")
	for _, path := range paths {
		body := b.ask(http.MethodGet, path, "").Body.String()
		for _, form := range []string{clientKey, hex.EncodeToString([]byte(clientKey)),
			base64.StdEncoding.EncodeToString([]byte(clientKey)), decimal, strings.ReplaceAll(decimal, " ", ",")} {
			if strings.Contains(strings.ToLower(body), strings.ToLower(form)) {
				t.Errorf("%s has the key: %s", path, form)
			}
		}
		if strings.Contains(path, "kind=AttemptRegistered") && !strings.Contains(body, "client_key_bytes") {
			t.Errorf("%s does not show the registration: %s", path, body)
		}
		if strings.Contains(path, "kind=Tokens") && !strings.Contains(body, "HDFS_DELEGATION_TOKEN of nn:8020") {
			t.Errorf("%s does not show the tokens: %s", path, body)
		}
	}
}

// golden compares the whole answer of a read with a file, or writes the file with -rewrite.
func (b *bench) golden(t *testing.T, name, path string) {
	t.Helper()
	accept := "*/*"
	if strings.HasSuffix(name, ".xml") {
		accept = "application/xml"
	}
	w := b.ask(http.MethodGet, path, "", "Accept", accept)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	got := w.Body.Bytes()
	if !strings.HasSuffix(name, ".xml") {
		var out bytes.Buffer
		if err := json.Indent(&out, bytes.TrimSpace(got), "", " "); err != nil {
			t.Fatalf("%v in %s", err, got)
		}
		got = out.Bytes()
	} else {
		got = bytes.ReplaceAll(got, []byte("><"), []byte(">\n<"))
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", "golden", name)
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from %s:\n%s", path, file, got)
	}
}
