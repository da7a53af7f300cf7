package tracker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// addresses is a lookup that knows two hosts.
func addresses(_ context.Context, host string) ([]string, error) {
	if a := map[string]string{"node1": "10.0.0.1", "node2": "10.0.0.2"}[host]; a != "" {
		return []string{a}, nil
	}
	return nil, errors.New("no such host")
}

func topology(t *testing.T, change func(*RacksConfig)) *Topology {
	t.Helper()
	cfg := DefaultRacksConfig()
	cfg.Lookup, cfg.Timeout = addresses, 2*time.Minute // on a busy machine a script may take long
	change(&cfg)
	r, err := NewTopology(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, mode os.FileMode, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "topology")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantRacks(t *testing.T, r Racks, want map[string]string) {
	t.Helper()
	for host, rack := range want {
		if got := r.Rack(t.Context(), host); got != rack {
			t.Errorf("%s stands in %q, want %q", host, got, rack)
		}
	}
}

func TestNoTopology(t *testing.T) {
	wantRacks(t, topology(t, func(*RacksConfig) {}), map[string]string{"node1": DefaultRack, "other": DefaultRack})
}

func TestTable(t *testing.T) {
	file := write(t, 0o600, "# hosts\n10.0.0.1 /dc1/r1\nnode3\t/dc1/r3/\nnode2 /dc1/r2 more\nbad rack\n\n")
	r := topology(t, func(c *RacksConfig) { c.Table = file })
	wantRacks(t, r, map[string]string{"node1": "/dc1/r1", "node3": "/dc1/r3", "node2": DefaultRack, "bad": DefaultRack,
		"other": DefaultRack})
	if err := os.WriteFile(file, []byte("node1 /r9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRacks(t, r, map[string]string{"node1": "/dc1/r1"}) // until Reload
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	wantRacks(t, r, map[string]string{"node1": "/r9", "node3": DefaultRack})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(); err == nil {
		t.Fatal("a table that is not there is read")
	}
	wantRacks(t, r, map[string]string{"node1": "/r9"})
	wantRacks(t, topology(t, func(c *RacksConfig) { c.Table = file }), map[string]string{"node1": DefaultRack})
}

// TestLargeTable checks that Reload refuses a table that is too large, and keeps the old one.
func TestLargeTable(t *testing.T) {
	file := write(t, 0o600, "node1 /r1\n")
	r := topology(t, func(c *RacksConfig) { c.Table, c.TableMax = file, 20 })
	if err := os.WriteFile(file, []byte("node1 /r2\nnode2 /r2\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(),
		"net.topology.table.file.name): "+file+" is larger than 20 bytes") {
		t.Errorf("21 bytes: %v", err)
	}
	wantRacks(t, r, map[string]string{"node1": "/r1"})
	if err := os.WriteFile(file, []byte("node1 /r2\nnode2 /r2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(); err != nil {
		t.Errorf("20 bytes: %v", err)
	}
	wantRacks(t, r, map[string]string{"node1": "/r2"})
}

// TestScript checks that the script gets the address of a host, as in YARN, and runs once per host.
func TestScript(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	file := write(t, 0o700, "#!/bin/sh\necho \"$#:$1\" >> "+calls+`
case "$1" in
10.0.0.1) echo /r1 ;;
10.0.0.2) echo r2 ;;
two) echo /r1 /r2 ;;
fails) exit 3 ;;
*) echo "/by-name/$1" ;;
esac
`)
	r := topology(t, func(c *RacksConfig) { c.Script = file })
	for range 2 {
		wantRacks(t, r, map[string]string{"node1": "/r1", "node2": DefaultRack, "two": DefaultRack, "fails": DefaultRack,
			"x": "/by-name/x"})
	}
	got, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(got), "\n") != 5 || !strings.Contains(string(got), "1:10.0.0.1\n") {
		t.Fatalf("the script was called with %q, %v", got, err)
	}
}

func TestScriptIsBounded(t *testing.T) {
	file := write(t, 0o700, "#!/bin/sh\nexec sleep 600\n")
	r := topology(t, func(c *RacksConfig) { c.Script, c.Timeout, c.ScriptsMax = file, 200*time.Millisecond, 1 })
	begun := time.Now()
	var all sync.WaitGroup
	for _, host := range []string{"a", "b", "c"} {
		all.Go(func() { wantRacks(t, r, map[string]string{host: DefaultRack}) })
	}
	all.Wait()
	if took := time.Since(begun); took > 2*time.Minute {
		t.Fatalf("a script that hangs took %v", took)
	}
	long := topology(t, func(c *RacksConfig) {
		c.Script = write(t, 0o700, "#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' a\n")
	})
	wantRacks(t, long, map[string]string{"a": DefaultRack})
}

// TestAbandonedRackLookupNotCached checks that a lookup that ended with the node's connection is
// not cached.
func TestAbandonedRackLookupNotCached(t *testing.T) {
	r := topology(t, func(c *RacksConfig) { c.Script = write(t, 0o700, "#!/bin/sh\necho /r1\n") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := r.Rack(ctx, "node1"); got != DefaultRack {
		t.Fatalf("an asker who is gone is told %q", got)
	}
	wantRacks(t, r, map[string]string{"node1": "/r1"})
}

func TestRackCacheIsBounded(t *testing.T) {
	r := topology(t, func(c *RacksConfig) { c.Table, c.CacheMax = write(t, 0o600, "a /r1\n"), 3 })
	for _, host := range []string{"a", "b", "c", "d", "e", "a"} {
		r.Rack(t.Context(), host)
	}
	if n := len(r.known) + len(r.failed); n > 3 {
		t.Fatalf("%d hosts are remembered", n)
	}
}

func TestRacksOfFiles(t *testing.T) {
	const table, script = "<property><name>net.topology.table.file.name</name><value>/t</value></property>",
		"<property><name>net.topology.script.file.name</name><value>/s</value></property>"
	const mapping = "<property><name>net.topology.node.switch.mapping.impl</name><value>" + tableMapping +
		"</value></property>"
	for props, want := range map[string][2]string{"": {}, table: {"/t", ""}, script: {"", "/s"},
		table + script: {"", "/s"}, table + script + mapping: {"/t", "/s"}} {
		if c := RacksConfigOf(confOf(t, props)); c.Table != want[0] || c.Script != want[1] {
			t.Errorf("%s: table %q, script %q", props, c.Table, c.Script)
		}
	}
	if _, err := NewTopology(RacksConfig{}); err == nil {
		t.Error("an empty configuration is accepted")
	}
}
