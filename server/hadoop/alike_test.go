package hadoop

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"rmd/internal/hadoopconf"
)

// TestDigests checks that files which say the same have the same digests, whatever their layout and
// the addresses of their machine are, and that another value or a missing file shows.
func TestDigests(t *testing.T) {
	digests := func(site string) map[string]string {
		dir := t.TempDir()
		for name, text := range map[string]string{"core-site.xml": "<configuration/>",
			"yarn-site.xml": "<configuration>" + site + "</configuration>"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		conf, err := hadoopconf.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		f := &Services{files: &files{conf: conf}}
		return f.Digests()
	}
	key := func(name, value string) string {
		return "<property><name>" + name + "</name><value>" + value + "</value></property>\n"
	}
	nodes, ids := key("yarn.resourcemanager.nodes.exclude-path", "/etc/ex"),
		key("yarn.resourcemanager.ha.rm-ids", "rm1,rm2")
	have := digests(nodes + ids + key("yarn.resourcemanager.ha.id",
		"rm1") + key("yarn.resourcemanager.address", "h1:8032"))
	for _, c := range []struct {
		site  string
		equal bool
	}{
		{ids + nodes + key("yarn.resourcemanager.ha.id", "rm2") + key("yarn.resourcemanager.bind-host", "0.0.0.0"), true},
		{ids, false},
		{ids + key("yarn.resourcemanager.nodes.exclude-path", "/etc/other"), false},
	} {
		got := digests(c.site)
		if got["core-site.xml"] == "" || got["core-site.xml"] != have["core-site.xml"] || maps.Equal(got, have) != c.equal {
			t.Errorf("digests of %q: %v, of the first file: %v; want them equal: %v", c.site, got, have, c.equal)
		}
	}
}
