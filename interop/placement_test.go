//go:build interop

package interop

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rmd/interop/harness"
)

// placements are submissions: user, name, queue, tag and priority; "-" means none.
var placements = []string{
	"ann nightly - - -", "ann x - - -", "ann x default - -", "ann x root.default - -", "ann x etl - -",
	"ann x root.none.x - -", "ann x nosuch - -",
	"bob x - - -", "bea x - - -", "carl.x x - - -", "etl x - - -", "etl x root.users - -", "eve x - - -",
	"charlie x - - -",
	"mallory x - - -", "hive x - userid=ann -", "hive x - userid=carl.x -", "bob x - userid=ann -",
	"ann x root.bi.adhoc - -", "ann x adhoc - -", "ann x root.users.eve - -", "ann x root.production.reports - -",
}

// priorities are submissions to the queues of testdata/priorities. They do not include the
// differences from YARN in docs/design/differences-from-yarn.md.
var priorities = []string{
	"ann x root.etl - -", "ann x root.etl - 7", "ann x root.etl - 8", "ann x root.etl - 99", "bea x root.etl - -",
	"bea x root.etl - 7",
	"bob x root.etl - -", "bob x root.etl - 3", "bob x root.etl - 4", "eve x root.etl - -", "eve x root.etl - 1",
	"eve x root.etl - 2", "eve x root.etl - -3",
	"eve x root.adhoc - -", "eve x root.adhoc - 99", "eve x root.adhoc - 0", "eve x root.open - -", "eve x root.open - 0",
	"ann x root.open - -", "ann x root.open - 10", "ann x root.open - 99",
	"ann x root.etl workflowid:nightly -", "ann x root.etl workflowid:NIGHTLY 1", "eve x root.adhoc workflowid:report 1",
	"eve x root.adhoc workflowid:nightly 1", "ann x root.etl workflowid:nightly 9",
}

// TestPlacement runs files that "yarn fs2cs" converts from the Fair Scheduler's, and one like those
// of CDP 7.1, on rmd and on the Java ResourceManager. The outputs of the command line and REST
// about queues, and the queues of submissions, must be equal.
func TestPlacement(t *testing.T) {
	for _, name := range []string{"fs2cs/documented", "fs2cs/cdh", "cdp"} {
		t.Run(filepath.Base(name), func(t *testing.T) { compareSubmissions(t, name, placements, "false") })
	}
}

// TestPriorities does the same for access lists of priorities, and for workflows.
func TestPriorities(t *testing.T) { compareSubmissions(t, "priorities", priorities, "true") }

// compareSubmissions compares the answers of rmd and of the Java ResourceManager with a
// configuration.
func compareSubmissions(t *testing.T, name string, submissions []string, acls string) {
	extra := configuration(t, name)
	var want, got map[string]string
	t.Run(string(harness.Java), func(t *testing.T) { want = placed(t, harness.Java, extra, submissions, acls) })
	t.Run(string(harness.DefaultKind()), func(
		t *testing.T) {
		got = placed(t, harness.DefaultKind(), extra, submissions, acls)
	})
	if len(want) == 0 || len(got) == 0 {
		t.FailNow() // the reason is already reported
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if d := harness.Diff(want[key], got[key]); d != "" {
			t.Errorf("%s\n%s", key, d)
		}
	}
}

// configuration returns a folder with Hadoop's files: those of testdata, or the unchanged output of
// Hadoop's converter for the Fair Scheduler's file there.
func configuration(t *testing.T, name string) string {
	from, to := filepath.Join("testdata", name), t.TempDir()
	if fair := filepath.Join(from, "fair-scheduler.xml"); exists(fair) {
		in := harness.Fetch(t)
		cmd := exec.Command(in.Java, "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", in.Jars+"/*",
			"org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.converter.FSConfigToCSConfigConverterMain",
			"-y", absolute(t, "testdata/fs2cs/fair-yarn-site.xml"), "-f", absolute(t, fair), "-o", to)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("fs2cs: %v\n%s", err, out)
		}
	} else if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	groups, err := os.ReadFile("testdata/groups.xml")
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "core-site.xml"), groups, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func absolute(t *testing.T, path string) string {
	p, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// queueFields are the REST fields of a queue that do not depend on the applications in it.
var queueFields = []string{"queuePath", "queueName", "state", "capacity", "maxCapacity", "absoluteCapacity",
	"absoluteMaxCapacity", "weight", "normalizedWeight",
	"mode", "queueType", "creationMethod", "autoCreationEligibility", "orderingPolicyInfo", "userLimitFactor", "userLimit",
	"maxApplications", "maxParallelApps"}

// placed returns the answers of a cluster by question.
func placed(t *testing.T, kind harness.Kind, extra string, submissions []string, acls string) map[string]string {
	c := harness.Start(t, harness.Options{Kind: kind, Nodes: 1, Managers: 1, Extra: extra, OwnQueues: true,
		Site: map[string]string{"yarn.acl.enable": acls, "yarn.admin.acl": "root"}})
	out := map[string]string{}
	var doc struct {
		Scheduler struct {
			Info map[string]any `json:"schedulerInfo"`
		} `json:"scheduler"`
	}
	c.Read("/ws/v1/cluster/scheduler", &doc)
	var paths []string
	describe(doc.Scheduler.Info, queueFields, func(_ map[string]any, path, text string) {
		out["REST "+path] = text
		paths = append(paths, path)
	})
	var commands []string
	for _, p := range paths {
		commands = append(commands, "queue -status "+p)
	}
	for i, r := range c.Batch(commands...) {
		out[commands[i]] = shown(c, r, "")
	}
	for i, queue := range c.Place(submissions) {
		out["submission "+submissions[i]] = c.Normal(queue)
		t.Logf("%s: %s", submissions[i], queue)
	}
	return out
}

// describe calls f with the given REST fields of each queue.
func describe(queue map[string]any, fields []string, f func(queue map[string]any, path, text string)) {
	path, _ := queue["queuePath"].(string)
	var b strings.Builder
	for _, key := range fields {
		switch v := queue[key].(type) {
		case nil:
		case float64: // Java's numbers are inexact beyond this
			fmt.Fprintf(&b, "%s = %.4f\n", key, v)
		default:
			fmt.Fprintf(&b, "%s = %v\n", key, v)
		}
	}
	f(queue, path, b.String())
	below, _ := queue["queues"].(map[string]any)
	list, _ := below["queue"].([]any)
	for _, q := range list {
		if q, ok := q.(map[string]any); ok {
			describe(q, fields, f)
		}
	}
}
