package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rmd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// faults loads a file and returns the lines of its faults, without the path.
func faults(t *testing.T, text string) []string {
	t.Helper()
	path := file(t, text)
	_, err := Load(Source{File: path})
	var bad *Invalid
	if err == nil {
		return nil
	}
	if !errors.As(err, &bad) {
		t.Fatalf("%T: %v", err, err)
	}
	var out []string
	for _, l := range bad.Lines() {
		out = append(out, strings.TrimPrefix(l, path+":"))
	}
	return out
}

func TestAllFaultsAtOnce(t *testing.T) {
	got := faults(t,
		"id: rm1\nclsuter: prod\nraft: {heartbeet: 5s, lease: 900ms, trailing: 5}\nlog: {level: inf}\nlog: {}\nadvertise: x\n")
	want := []string{
		`2:1: unknown key "clsuter"; did you mean "cluster"?`,
		`3:8: unknown key "raft.heartbeet"; did you mean "heartbeat"?`,
		`3:8: raft.heartbeat: 5s must be at most raft.election (500ms)`,
		`3:37: raft.trailing: 5 is below 1024; with fewer entries a follower may need snapshots again and again; the default is 2048`,
		`4:14: log.level: "inf" is not one of trace, debug, info, warn, error, off; did you mean "info"?`,
		`6:1: unknown key "advertise"; did you mean "raft.advertise"?`,
	}
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || g == w
		}
		if !found && !strings.Contains(w, "advertise") {
			t.Errorf("missing %q in\n%s", w, strings.Join(got, "\n"))
		}
	}
}

// TestUnknownKeysComeFirst checks that a misspelled key comes before the faults that follow from it.
func TestUnknownKeysComeFirst(t *testing.T) {
	got := faults(t, "raft: {lease: 900ms}\nname: rm1\nraff: {lease: 400ms}\n")
	if len(got) != 4 || !strings.Contains(got[0], `unknown key "name"`) ||
		!strings.Contains(got[1], `unknown key "raff"; did you mean "raft"?`) {
		t.Errorf("faults:\n%s\nwant the keys name and raff first, then 2 others", strings.Join(got, "\n"))
	}
}

// TestNothingFollowsFromMistypedKeys checks that a mistyped key is the only fault, although what it
// means is missing or would not fit.
func TestNothingFollowsFromMistypedKeys(t *testing.T) {
	for text, want := range map[string]string{
		"idd: rm1\n": `1:1: unknown key "idd"; did you mean "id"?`,
		"id: rm1\nraft: {electoin: 6s, heartbeat: 5s}\n":   `2:8: unknown key "raft.electoin"; did you mean "election"?`,
		"id: rm1\nraff: {election: 6s, heartbeat: 5s}\n":   `2:1: unknown key "raff"; did you mean "raft"?`,
		"idd: rm1\nid: rm2\ncluster: prod\nclsuter: [1]\n": `1:1: unknown key "idd"; did you mean "id"?|4:1: unknown key "clsuter"; did you mean "cluster"?`,
	} {
		if got := strings.Join(faults(t, text), "|"); got != want {
			t.Errorf("%q: faults %q, want %q", text, got, want)
		}
	}
}

// TestBounds has one invalid value for each bound in docs/operations/settings.md.
func TestBounds(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"", "the replica has no id"},
		{"id: a b", "must be 1 to 64 letters"},
		{"cluster: ''", "must be 1 to 64 letters"},
		{"data: ' '", "data directory is missing"},
		{"standby: forwrd", `did you mean "forward"?`},
		{"standby_hold: 61s", "is not in 1ms to 1m"},
		{"standby_hold: 0", "is not in 1ms to 1m"},
		{"scheduling: fast", "is not one of eager, heartbeat"},
		{"raft: {heartbeat: 99ms, lease: 90ms}", "99ms is below 100ms"},
		{"raft: {lease: 600ms}", "at most raft.heartbeat"},
		{"raft: {election: 400ms}", "must be at least raft.heartbeat"},
		{"raft: {heartbeat: 5s}", "2:8: raft.heartbeat: 5s must be at most raft.election (500ms)"},
		{"raft: {bootstrap_expect: 2, join: ['127.0.0.1:1', '127.0.0.1:2']}", "2 is even"},
		{"raft: {bootstrap_expect: 9}", "above 7 voters"},
		{"raft: {bootstrap_expect: 3, join: ['127.0.0.1:1']}", "it expects 3 replicas, but raft.join lists 1"},
		{"raft: {join: [nowhere]}", "not HOST:PORT"},
		{"raft: {join: ['127.0.0.1:1', '127.0.0.1:1']}", "appears twice"},
		{"raft: {snapshot_threshold: 0}", "must be at least 1"},
		{"hadoop: {connections: 0}", "must be from 1 to 1048576"},
		{"raft: {snapshot_bytes: 1000}", "must be at least 1MiB"},
		{"raft: {snapshot_interval: 10ms}", "is below 1s"},
		{"raft: {trailing: 1023}", "is below 1024"},
		{"raft: {sync: never}", `"never" is not one of always`},
		{"raft: {listen: '0.0.0.0:8034'}", "tls is not configured"},
		{"raft: {listen: '127.0.0.1:99999'}", "the port is not from 0 to 65535"},
		{"raft: {advertise: '10.0.0.1:8034'}", "is not on this machine, but tls is not configured"},
		{"raft: {heartbeat: soon}", "is not a duration"},
		{"raft: {trailing: -1}", "is not a whole number"},
		{"raft: [1]", "is a section of keys"},
		{"raft: {heartbeat: {a: 1}}", "expected a value, not a section"},
		{"id:", "the value is missing"},
		{"tls: {ca: /nonexistent}", "configure tls.ca, tls.cert and tls.key"},
		{"disk: {reserve: 1MiB}", "must not be below disk.stop"},
		{"disk: {exit_after: 2s}", "must be above disk.give_up_after"},
		{"disk: {stop: lots}", "is not a size such as 256MiB"},
		{"autopilot: {cleanup_dead_servers: true}", "needs a min_quorum of at least 3"},
		{"autopilot: {dead_server_last_contact_threshold: 30s}", "is below 1m"},
		{"http: {listen: here}", "not HOST:PORT"},
		{"http: {listen_tls: '127.0.0.1:8090'}", "there is no certificate"},
		{"hadoop: {conf_dir: /nonexistent/dir}", "nonexistent"},
		{"id: [", "not YAML"},
		{"- 1", "not a list of"},
	} {
		text := c.yaml
		if !strings.HasPrefix(text, "id") && text != "" && text[0] != '-' {
			text = "id: rm1\n" + text
		}
		if got := strings.Join(faults(t, text), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.yaml, got, c.want)
		}
	}
}

// TestNoTLSPort checks that "none" turns off REST over TLS, as the documentation says.
func TestNoTLSPort(t *testing.T) {
	l, err := Load(Source{File: file(t, "id: rm1\nhttp: {listen_tls: none}\n")})
	if err != nil || l.HTTP.ListenTLS != "" {
		t.Errorf("Load of listen_tls none: %v, want no error and no TLS port; got %+v", err, l)
	}
}

func TestPrecedenceAndOrigins(t *testing.T) {
	path := file(t, "id: rm1\nraft:\n  heartbeat: 1s\n  election: 2s\n  snapshot_bytes: 1_048_576\nlog: {level: debug}\n")
	env := map[string]string{"RMD_RAFT_ELECTION": "3", "RMD_LOG_LEVEL": "warn"}
	l, err := Load(Source{File: path, Env: func(n string) (string, bool) { v, ok := env[n]; return v, ok },
		Flags: map[string]string{"log.level": "error"}, Spelling: map[string]string{"log.level": "--log-level"}})
	if err != nil {
		t.Fatal(err)
	}
	if l.Raft.Heartbeat != time.Second || l.Raft.Election != 3*time.Second || l.Log.Level != "error" ||
		l.Raft.SnapshotBytes != 1<<20 {
		t.Fatalf("heartbeat %s, election %s, log level %s, snapshot_bytes %d; want 1s, 3s, error, %d",
			l.Raft.Heartbeat, l.Raft.Election, l.Log.Level, l.Raft.SnapshotBytes, 1<<20)
	}
	for key, want := range map[string]string{"raft.heartbeat": path + ":3:3",
		"raft.election": "environment RMD_RAFT_ELECTION", "log.level": "flag --log-level", "data": "default"} {
		if got := l.Origins[key].String(); got != want {
			t.Errorf("%s: origin %q, want %q", key, got, want)
		}
	}
}

// TestPrintIsReadBack checks that the output of --print-config loads to the same configuration.
func TestPrintIsReadBack(t *testing.T) {
	l,
		err := Load(
		Source{
			File: file(t,
				"id: 'yes'\nraft: {bootstrap_expect: 3, join: ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'], heartbeat: 700ms, election: 1m30s}\nautopilot: {min_quorum: 3, cleanup_dead_servers: true}\n")})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Print(&b, l); err != nil {
		t.Fatal(err)
	}
	again, err := Load(Source{File: file(t, b.String())})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	var c bytes.Buffer
	if err := Print(&c, &Loaded{Config: again.Config, Origins: l.Origins}); err != nil {
		t.Fatal(err)
	}
	if b.String() != c.String() {
		t.Fatalf("printed\n%s\nread back as\n%s", b.String(), c.String())
	}
}

func TestSampleNamesEveryKeyAndLoads(t *testing.T) {
	var b bytes.Buffer
	if err := Sample(&b, map[string]string{"id": "rm1", "raft.listen": "127.0.0.1:9034"}); err != nil {
		t.Fatal(err)
	}
	l, err := Load(Source{File: file(t, b.String())})
	if err != nil {
		t.Fatal(err)
	}
	if l.ID != "rm1" || l.Raft.Listen != "127.0.0.1:9034" {
		t.Fatalf("the sample: id %q, raft.listen %q, want rm1, 127.0.0.1:9034", l.ID, l.Raft.Listen)
	}
	for _, key := range Keys() {
		if !strings.Contains(b.String(), key[strings.LastIndexByte(key, '.')+1:]+":") {
			t.Errorf("the sample does not name %s", key)
		}
	}
}

func TestDefaultsAreValidButForTheID(t *testing.T) {
	if got := faults(t, "# nothing\n"); len(got) != 1 || !strings.Contains(got[0], "no id") {
		t.Fatalf("faults of an empty file: %q, want one with \"no id\"", got)
	}
}

func TestHadoopFileSettings(t *testing.T) {
	dir := t.TempDir()
	site := `<configuration><property><name>yarn.resourcemanager.cluster-id</name><value>yarn1</value></property>
<property><name>yarn.resourcemanager.ha.rm-ids</name><value>rm1,rm2</value></property>
<property><name>yarn.resourcemanager.webapp.address.rm1</name><value>127.0.0.1:9999</value></property></configuration>`
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"rm1", "rm3"} {
		l, err := Load(Source{File: file(t, "id: "+id+"\nhadoop: {conf_dir: '"+dir+"'}\n")})
		if id == "rm3" {
			if err == nil || !strings.Contains(err.Error(), `"rm3" is not among yarn.resourcemanager.ha.rm-ids`) {
				t.Fatalf("Load with id rm3: %v, want an error that rm3 is not among yarn.resourcemanager.ha.rm-ids", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.Cluster != "yarn1" || l.HTTP.Listen != "127.0.0.1:9999" || l.Hadoop == nil {
			t.Fatalf("from yarn-site.xml: cluster %q, HTTP at %q, Hadoop's files read %v; want yarn1, 127.0.0.1:9999, true",
				l.Cluster, l.HTTP.Listen, l.Hadoop != nil)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add("id: rm1\nraft: {join: [a, b]}\n")
	f.Add("a: &x [1]\nb: *x\n<<: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Load(Source{File: file(t, text)}) // must not panic
	})
}

func TestEffectiveShowsOrigins(t *testing.T) {
	c := Default()
	c.ID = "rm7"
	find := func(list []Shown, path string) Shown {
		for _, s := range list {
			if s.Path == path {
				return s
			}
		}
		t.Fatalf("%s is not listed", path)
		return Shown{}
	}
	list := Effective(c, map[string]Origin{"id": {Kind: "file", Name: "rmd.yaml", Line: 3}})
	if s := find(list, "id"); s.Value != "rm7" || s.Origin != "rmd.yaml:3" || s.About == "" {
		t.Errorf("Effective shows id as %+v, want value rm7, origin rmd.yaml:3 and an explanation", s)
	}
	if s := find(list, "raft.sync"); s.Value != "always" || s.Origin != "default" {
		t.Errorf("Effective shows raft.sync as %+v, want value always, origin default", s)
	}
	list = Effective(c, nil)
	if id, sync := find(list, "id"), find(list, "raft.sync"); id.Origin != "this program" || sync.Origin != "default" {
		t.Errorf("Effective without origins: id has origin %q, raft.sync %q; want \"this program\", \"default\"",
			id.Origin, sync.Origin)
	}
	if len(list) != len(Keys()) {
		t.Errorf("%d of %d keys", len(list), len(Keys()))
	}
}

// TestLimitOfOpenFiles checks that a limit which is too low for a replica is a fault, and that one
// which is too low for the configured connections causes a warning with the necessary limit.
func TestLimitOfOpenFiles(t *testing.T) {
	path := file(t, "id: rm1\n")
	load := func(files int, more map[string]string) (*Loaded, error) {
		return Load(Source{File: path, Files: files, Flags: more})
	}
	if _, err := load(511, nil); err == nil ||
		!strings.Contains(err.Error(), "the limit of open files is 511; a replica needs 512; raise it: LimitNOFILE=") {
		t.Errorf("Load with a limit of 511 open files: %v, want an error that a replica needs 512", err)
	}
	hadoop := t.TempDir()
	for name, c := range map[string]struct {
		files int
		flags map[string]string
		want  string
	}{
		"room":    {files: 1365},
		"no room": {files: 1364, want: "the limit of open files, 1364, allows 1023 connections, 512 of one port; for all 1024, raise it to 1366"},
		"off":     {files: 512, flags: map[string]string{"http.listen": "none"}},
		"yarn":    {files: 68608, flags: map[string]string{"hadoop.conf_dir": hadoop}},
		"yarn too many": {files: 65536, flags: map[string]string{"hadoop.conf_dir": hadoop},
			want: "the limit of open files, 65536, allows 63488 connections, 31744 of one port; for all 66560, raise it to 68608 (LimitNOFILE=, ulimit -n)"},
	} {
		l, err := load(c.files, c.flags)
		if err != nil {
			t.Errorf("%s: Load with a limit of %d open files: %v, want no error", name, c.files, err)
			continue
		}
		if got := strings.Join(l.Warnings, "\n"); c.want == "" && strings.Contains(got, "open files") ||
			!strings.Contains(got, c.want) {
			t.Errorf("%s: warned %q", name, got)
		}
	}
}

// TestRelativePaths checks that a relative path in the file is relative to the file's directory,
// and one from the command line is not.
func TestRelativePaths(t *testing.T) {
	name := file(t, "id: rm1\ndata: data\n")
	l, err := Load(Source{File: name})
	if err != nil || l.Data != filepath.Join(filepath.Dir(name), "data") {
		t.Errorf("Load with a relative data directory: %v, want no error and it next to the file; got %+v", err, l)
	}
	l, err = Load(Source{File: name, Flags: map[string]string{"data": "here"}})
	if err != nil || l.Data != "here" {
		t.Errorf("Load with the flag data=here: %v, want no error and data \"here\"; got %+v", err, l)
	}
}
