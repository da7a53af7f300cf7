package hadoop

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rmd/scheduler/input"
)

// TestHostsOf reads the lists of hosts, one of them in XML with timeouts. A negative timeout means
// no limit.
func TestHostsOf(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	include := write("include", "a b # c\n\nd")
	exclude := write(
		"exclude.XML", `<hosts><host><name>e, f</name><timeout>90</timeout></host><host><name>g</name><timeout> -1 </timeout></host>
		<host><name>h</name><timeout>0</timeout></host><host><name>i</name></host></hosts>`)
	write("yarn-site.xml", "<configuration><property><name>yarn.resourcemanager.nodes.include-path</name><value>"+include+
		"</value></property><property><name>yarn.resourcemanager.nodes.exclude-path</name><value>"+exclude+
		"</value></property></configuration>")
	got, err := HostsOf(dir)
	want := &input.SetHosts{Include: []string{"a", "b", "d"}, Exclude: []string{"e", "f", "g", "h", "i"},
		Timeouts: []input.HostTimeout{{Host: "e", Millis: 90_000}, {Host: "f", Millis: 90_000}, {Host: "g"},
			{Host: "h", Millis: 1}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("HostsOf = %+v, %v, want %+v", got, err, want)
	}
	write("exclude.XML", "<hosts><host><name>e</name><timeout>soon</timeout></host></hosts>")
	if _, err := HostsOf(dir); err == nil || !strings.Contains(err.Error(), `timeout "soon" of host e`) {
		t.Errorf("a time that is no number: %v", err)
	}
}
