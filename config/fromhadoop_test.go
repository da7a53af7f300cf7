package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/internal/certificate"
)

// siteOf writes a yarn-site.xml and returns its directory.
func siteOf(t *testing.T, pairs ...string) string {
	t.Helper()
	dir, text := t.TempDir(), "<configuration>\n"
	for i := 0; i < len(pairs); i += 2 {
		text += "<property><name>" + pairs[i] + "</name><value>" + pairs[i+1] + "</value></property>\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(text+"</configuration>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWithoutFile checks what a replica takes from Hadoop's files alone: its id, the replicas, its
// certificates and the port of its pages.
func TestWithoutFile(t *testing.T) {
	const rm = "yarn.resourcemanager."
	three := []string{rm + "cluster-id", "prod", rm + "ha.rm-ids", "rm1, rm2,rm3", rm + "hostname.rm1", "a.example",
		rm + "hostname.rm2", "b.example", rm + "address.rm3", "c.example:8032"}
	pair := append(slices.Clone(three[:2]), rm+"ha.rm-ids", "rm1,rm2", rm+"hostname.rm1", "a.example",
		rm+"hostname.rm2", "b.example")
	keys := t.TempDir()
	ca, _, err := certificate.Open(keys, "prod", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"rm1", "rm2", "rm3"} {
		if _, err := ca.Issue(keys, "prod", id, []string{id}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, host string
		site       []string
		want       map[string]string // by key
		fault      string
	}{
		{"by host", "b.example", three, map[string]string{"id": "rm2", "cluster": "prod", "raft.listen": "b.example:8034",
			"raft.join":             "a.example:8034,b.example:8034,c.example:8034",
			"raft.bootstrap_expect": "3", "http.listen": "b.example:8088", "tls.cert": filepath.Join(keys, "rm2.pem")}, ""},
		{"by host without its domain", "C", three, map[string]string{"id": "rm3"}, ""},
		{"by ha.id", "other", append([]string{rm + "ha.id", "rm1"}, three...), map[string]string{"id": "rm1"}, ""},
		{"another machine", "d.example", three, nil,
			"the replica has no id; none of yarn.resourcemanager.ha.rm-ids is on this machine"},
		{"all on this machine", "other", []string{rm + "ha.rm-ids", "rm1,rm2", rm + "hostname.rm1", "127.0.0.1",
			rm + "address.rm2", "127.0.0.2:8032"}, nil,
			"more than one, rm1 and rm2, of yarn.resourcemanager.ha.rm-ids is on this machine"},
		{"address before host name", "b.example",
			append([]string{rm + "address.rm2", "rpc.b.example:8032", rm + "ha.id", "rm2"}, three...),
			map[string]string{"raft.listen": "rpc.b.example:8034"}, ""},
		{"pages elsewhere", "a.example", append([]string{rm + "webapp.address.rm1", "a.example:9000"}, three...),
			map[string]string{"http.listen": "a.example:9000"}, ""},
		{"a pair", "a.example", pair, nil, "rmd.witnesses"},
		{"a pair that will grow", "a.example", pair,
			map[string]string{"raft.bootstrap_expect": "0", "raft.listen": "a.example:8034"}, ""},
		{"a pair and a witness", "a.example", append([]string{"rmd.witnesses", "zk1.example:8034"}, pair...),
			map[string]string{"raft.bootstrap_expect": "3", "raft.join": "a.example:8034,b.example:8034,zk1.example:8034"}, ""},
		{"a host is missing", "a.example", append([]string{rm + "ha.rm-ids", "rm1,rm2,rm9"}, pair[4:]...), nil,
			rm + "hostname.rm9 is missing"},
	} {
		flags := map[string]string{"hadoop.conf_dir": siteOf(t, c.site...)}
		if expect, ok := c.want["raft.bootstrap_expect"]; ok && expect == "0" {
			flags["raft.bootstrap_expect"] = expect
		}
		l, err := Load(Source{Flags: flags, Host: c.host, Keys: keys})
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v, want a fault with %q", c.name, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := map[string]string{}
		for _, k := range Effective(l.Config, l.Origins) {
			got[k.Path] = k.Value
		}
		for key, want := range c.want {
			if got[key] != want {
				t.Errorf("%s: %s is %q, want %q", c.name, key, got[key], want)
			}
		}
	}
}

// TestFileKeepsAddresses checks that Hadoop's files change no address of a replica that has a file or
// an address on its command line.
func TestFileKeepsAddresses(t *testing.T) {
	dir := siteOf(t, "yarn.resourcemanager.ha.rm-ids", "rm1,rm2,rm3", "yarn.resourcemanager.hostname.rm1", "a",
		"yarn.resourcemanager.hostname.rm2", "b", "yarn.resourcemanager.hostname.rm3", "c")
	for _, src := range []Source{
		{File: file(t, "id: rm1\nhadoop: {conf_dir: "+dir+"}\n")},
		{Flags: map[string]string{"id": "rm1", "hadoop.conf_dir": dir, "raft.listen": "127.0.0.1:8034"}},
	} {
		if l, err := Load(src); err != nil || l.Raft.Listen != "127.0.0.1:8034" || len(l.Raft.Join) != 0 {
			t.Errorf("%+v, %v", l, err)
		}
	}
}

// TestCheckHadoop checks that the faults of every replica are found, with the place of each, and that
// files are good which need nothing but certificates.
func TestCheckHadoop(t *testing.T) {
	const rm = "yarn.resourcemanager."
	three := []string{rm + "ha.rm-ids", "rm1,rm2,rm3", rm + "hostname.rm1", "a.example", rm + "hostname.rm2", "b.example",
		rm + "hostname.rm3", "c.example"}
	for _, c := range []struct {
		name string
		site []string
		want []string // parts of the faults
	}{
		{"three", three, nil},
		{"one without ids", []string{rm + "hostname", "a.example"}, nil},
		{"a pair and a witness", append([]string{rm + "ha.rm-ids", "rm1,rm2", "rmd.witnesses", "d.example:8034"}, three[2:6]...),
			nil},
		{"a pair", append([]string{rm + "ha.rm-ids", "rm1,rm2"}, three[2:6]...),
			[]string{"yarn-site.xml:2: " + rm + "ha.rm-ids: with 2 replicas"}},
		{"no host", three[:6], []string{"yarn-site.xml:2: " + rm + "hostname.rm3 is missing"}},
		{"ports", append([]string{rm + "admin.address.rm2", "b.example:99999", rm + "webapp.address.rm3", "c.example:x"}, three...),
			[]string{"yarn-site.xml:2: " + rm + `admin.address.rm2: "b.example:99999"`, `yarn-site.xml:3: http.listen: "c.example:x"`}},
		{"port without ids", []string{rm + "address", "a.example:99999"},
			[]string{"yarn-site.xml:2: " + rm + `address: "a.example:99999"`}},
	} {
		faults := CheckHadoop(siteOf(t, c.site...))
		if len(faults) != len(c.want) {
			t.Errorf("%s: %v, want %d faults", c.name, faults, len(c.want))
			continue
		}
		for i, f := range faults {
			if !strings.Contains(f.String(), c.want[i]) {
				t.Errorf("%s: fault %q, want one with %q", c.name, f, c.want[i])
			}
		}
	}
}
