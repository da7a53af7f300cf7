package hadoop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
)

const rulesConf = `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>default,a</value></property>
<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.mapping-rule-format</name><value>json</value></property>
<property><name>yarn.scheduler.capacity.mapping-rule-json-file</name><value>%s</value></property>
%s</configuration>`

const rulesFile = `{"rules":[{"type":"user","matches":"*","policy":"custom","customPlacement":"%s"}]}`

// TestRulesFile checks that the configuration contains the contents of the rules' file, so that
// replicas without the file have the same rules.
func TestRulesFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rules.json", fmt.Sprintf(rulesFile, "root.a"))
	write("wrong.json", fmt.Sprintf(rulesFile, "root.b"))
	write("empty.json", "\n")
	write("large.json", strings.Repeat(" ", maxRulesFile)+"{}")
	inline := "<property><name>yarn.scheduler.capacity.mapping-rule-json</name><value>" +
		fmt.Sprintf(rulesFile, "root.default") + "</value></property>"
	for _, tc := range []struct{ file, more, queue, refusal string }{
		{"rules.json", "", "root.a", ""},
		{filepath.Join(dir, "rules.json"), "", "root.a", ""},
		{"rules.json", inline, "root.default", ""},
		{"none.json", inline, "root.default", ""},
		{"wrong.json", "", "", `rule 1: there is no queue "root.b"`},
		{"none.json", "", "", "no such file or directory"},
		{"empty.json", "", "", "empty.json is empty"},
		{"large.json", "", "", "is larger than 1048576 bytes"},
		{".", "", "", "is not a file"},
	} {
		write("capacity-scheduler.xml", fmt.Sprintf(rulesConf, tc.file, tc.more))
		props, err := QueuesOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		conf, err := capacity.Parse(props)
		if says := (&files{}).Illegal(inputs(props)); (says != "") != (tc.file == "wrong.json") ||
			says != "" &&
				says != "org.apache.hadoop.yarn.exceptions.YarnException: Mapping rule specified a parent queue 'root', but it is not a dynamic parent queue, and no queue exists with name 'b' under it." {
			t.Errorf("%s: YARN says %q", tc.file, says)
		}
		if tc.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refusal) {
				t.Errorf("%s: %v, want %s", tc.file, err, tc.refusal)
			}
			continue
		}
		if err != nil {
			t.Fatalf("Parse with the rules in %s: %v", tc.file, err)
		}
		again, err := capacity.Parse(conf.Properties()) // the configuration of another replica
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Place(placement.Submission{User: "ann"}); got.Queue != tc.queue {
			t.Errorf("%s: %+v, want %s", tc.file, got, tc.queue)
		}
	}
}

func inputs(props []capacity.Property) (out []input.Property) {
	for _, p := range props {
		out = append(out, input.Property(p))
	}
	return out
}
