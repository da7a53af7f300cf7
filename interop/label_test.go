//go:build interop

package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/interop/harness"
)

// TestLabels runs DistributedShell with configurations of cloud providers: one node has a label,
// and the ApplicationMasters may run only there.
func TestLabels(t *testing.T) {
	t.Run("EMR", func(t *testing.T) {
		c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Extra: "testdata/emr"})
		succeeded(t, c.Yarn("rmadmin", "-addToClusterNodeLabels", "CORE(exclusive=false)"))
		awaitLabel(t, c, c.Nodes[0], "CORE")
		if r := c.Yarn("rmadmin", "-replaceLabelsOnNode", c.Nodes[1].ID()+"=CORE"); r.Code == 0 ||
			!strings.Contains(r.Text(), "centralized node label configuration is not enabled") {
			t.Errorf("an administrator may label nodes that label themselves: %s", r.Last())
		}
		mastersOn(t, c, c.Nodes[0])
	})
	t.Run("Alibaba", func(t *testing.T) {
		c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Extra: "testdata/alibaba"})
		succeeded(t, c.Yarn("rmadmin", "-addToClusterNodeLabels", "stable"))
		succeeded(t, c.Yarn("rmadmin", "-replaceLabelsOnNode", c.Nodes[0].ID()+"=stable", "-failOnUnknownNodes"))
		awaitLabel(t, c, c.Nodes[0], "stable")
		for _, app := range mastersOn(t, c, c.Nodes[0]) {
			if all := harness.Of(c.Nodes[0].Started(), app); slices.ContainsFunc(all,
				func(id string) bool { return !strings.HasSuffix(id, "_000001") }) {
				t.Errorf("%s: of an exclusive label, beside its master: %v", app, all)
			}
		}
	})
}

// awaitLabel waits until the label is on this node and no other.
func awaitLabel(t *testing.T, c *harness.Cluster, n *harness.Node, label string) {
	t.Helper()
	harness.Await(t, n.Name+" has the label", time.Minute, func() bool {
		var doc struct {
			Nodes struct {
				Node []struct {
					ID     string   `json:"id"`
					Labels []string `json:"nodeLabels"`
				} `json:"node"`
			} `json:"nodes"`
		}
		c.Read("/ws/v1/cluster/nodes", &doc)
		labelled := ""
		for _, n := range doc.Nodes.Node {
			if len(n.Labels) > 0 {
				labelled += n.ID + strings.Join(n.Labels, ",")
			}
		}
		return labelled == n.ID()+label
	})
}

// mastersOn runs applications in different queues, and checks that their ApplicationMasters run
// only on one node.
func mastersOn(t *testing.T, c *harness.Cluster, n *harness.Node) (apps []string) {
	t.Helper()
	var running []*harness.Running
	for i := range 3 {
		running = append(running, c.StartShell(harness.Shell{Name: fmt.Sprint("shell", i), Containers: 2, Command: "date"}))
	}
	for _, r := range running {
		app := c.Submitted(r)
		apps = append(apps, app)
		succeeded(t, r.Wait(), "Application completed successfully")
		for _, other := range c.Nodes {
			masters := slices.DeleteFunc(harness.Of(other.Started(), app),
				func(id string) bool { return !strings.HasSuffix(id, "_000001") })
			if (other == n) != (len(masters) == 1) {
				t.Errorf("%s has %d masters of %s", other.Name, len(masters), app)
			}
		}
	}
	return apps
}

// labelCommands are the command lines to compare. Words in braces are as in commands. "~" means that
// the order of the words in the output does not matter.
const labelCommands = `
cluster --list-node-labels
rmadmin -addToClusterNodeLabels gpu,spot(exclusive=false)
rmadmin -addToClusterNodeLabels gpu(exclusive=false)
rmadmin -addToClusterNodeLabels new,-a
rmadmin -addToClusterNodeLabels gpu
~ cluster --list-node-labels
rmadmin -replaceLabelsOnNode {node}=nosuch
rmadmin -replaceLabelsOnNode {node}=gpu,spot
rmadmin -replaceLabelsOnNode nosuch=gpu -failOnUnknownNodes
rmadmin -replaceLabelsOnNode {node}=gpu
rmadmin -replaceLabelsOnNode {other}=spot -failOnUnknownNodes
node -status {node}
node -status {other}
queue -status default
queue -status batch
await
application -status {app}
application -movetoqueue {app} -queue batch
rmadmin -removeFromClusterNodeLabels nosuch
rmadmin -removeFromClusterNodeLabels gpu
rmadmin -replaceLabelsOnNode {other}=
node -status {other}
rmadmin -removeFromClusterNodeLabels spot
cluster --list-node-labels
application -kill {app}
`

// TestLabelCommands runs the node label commands on rmd and on the Java ResourceManager, like
// TestCommands.
func TestLabelCommands(t *testing.T) {
	want, got := labelAnswers(t, harness.JavaHA), labelAnswers(t, harness.DefaultKind())
	lines := strings.Split(strings.TrimSpace(labelCommands), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "await" })
	if len(want) != len(lines) || len(got) != len(lines) {
		t.FailNow() // the missing answers are already reported
	}
	for i, line := range lines {
		if d := harness.Diff(want[i], got[i]); d != "" {
			t.Errorf("%s\n%s", line, d)
		}
	}
}

// labelAnswers runs the commands. At "await" it starts an application with a label and waits until
// it runs.
func labelAnswers(t *testing.T, kind harness.Kind) (all []string) {
	t.Run(string(kind), func(t *testing.T) {
		c := harness.Start(t, harness.Options{Kind: kind, Tuned: true,
			Site: map[string]string{"yarn.node-labels.enabled": "true",
				"yarn.node-labels.fs-store.root-dir": "file://" + t.TempDir()},
			Scheduler: map[string]string{"root.accessible-node-labels.gpu.capacity": "100",
				"root.default.accessible-node-labels": "gpu", "root.default.accessible-node-labels.gpu.capacity": "100",
				"root.default.accessible-node-labels.gpu.maximum-am-resource-percent": "1",
				"root.batch.accessible-node-labels":                                   " "}})
		app := ""
		before, after, _ := strings.Cut(strings.TrimSpace(labelCommands), "\nawait\n")
		for _, part := range []string{before, after} {
			words := strings.NewReplacer("{node}", c.Nodes[0].ID(), "{other}", c.Nodes[1].ID(), "{app}", app)
			var batch []string
			var sorted []bool
			for line := range strings.Lines(part) {
				line, anyOrder := strings.CutPrefix(words.Replace(strings.TrimSpace(line)), "~ ")
				batch, sorted = append(batch, line), append(sorted, anyOrder)
			}
			for i, r := range c.Batch(batch...) {
				text := shown(c, r, "")
				if sorted[i] {
					list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \n", r) })
					slices.Sort(list)
					text = strings.Join(list, " ")
				}
				all = append(all, text)
			}
			if app == "" {
				app = c.Submitted(c.StartShell(harness.Shell{Name: "labelled", Command: "sleep", Args: "600",
					Within: 9 * time.Minute, More: []string{"-node_label_expression", "gpu"}}))
				c.AwaitApp(app, "running two containers", 2*time.Minute,
					func(a harness.App) bool { return a.State == "RUNNING" && a.Containers == 2 })
			}
		}
	})
	return all
}
