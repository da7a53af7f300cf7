package hadoop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rmd/scheduler/capacity"
)

// TestPreprocessorFile checks that the configuration contains the contents of the preprocessor's
// file, so that every replica has them.
func TestPreprocessorFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hosts.txt", "edge1 Q=root.a\n")
	write("wrong.txt", "edge1 Q=root.a\n\nedge2 X=y\n")
	for _, tc := range []struct{ enabled, file, queue, refusal string }{
		{"true", "hosts.txt", "root.a", ""},
		{"TRUE", filepath.Join(dir, "hosts.txt"), "root.a", ""},
		{"false", "none.txt", "", ""},
		{"true", "none.txt", "", "no such file or directory"},
		{"true", "wrong.txt", "", `line 3: "X" is none of NL, Q and TA`},
	} {
		write("capacity-scheduler.xml", `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>
<property><name>yarn.resourcemanager.submission-preprocessor.enabled</name><value>`+tc.enabled+`</value></property>
<property><name>yarn.resourcemanager.submission-preprocessor.file-path</name><value>`+tc.file+`</value></property>
</configuration>`)
		props, err := QueuesOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		conf, err := capacity.Parse(props)
		if tc.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refusal) {
				t.Errorf("%s: %v, want %s", tc.file, err, tc.refusal)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := capacity.Parse(conf.Properties()) // the configuration of another replica
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Preprocessor.Of("edge1").Queue; got != tc.queue {
			t.Errorf("%s: %q, want %q", tc.file, got, tc.queue)
		}
	}
}
