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

// TestLabels runs DistributedShell with configurations as clouds write them: one node has a label, and
// the ApplicationMasters run there alone.
func TestLabels(t *testing.T) {
	t.Run("EMR", func(t *testing.T) {
		c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Extra: "testdata/emr"})
		succeeded(t, c.Yarn("rmadmin", "-addToClusterNodeLabels", "CORE(exclusive=false)"))
		awaitLabel(t, c, c.Nodes[0], "CORE")
		if r := c.Yarn("rmadmin", "-replaceLabelsOnNode", c.Nodes[1].ID()+"=CORE"); r.Code == 0 || !strings.Contains(r.Text(), "centralized node label configuration is not enabled") {
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
			if all := harness.Of(c.Nodes[0].Started(), app); slices.ContainsFunc(all, func(id string) bool { return !strings.HasSuffix(id, "_000001") }) {
				t.Errorf("%s: of an exclusive label, beside its master: %v", app, all)
			}
		}
	})
}

// awaitLabel waits until a node alone has a label.
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

// mastersOn runs applications of different queues, and holds that their masters run on one node alone.
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
			masters := slices.DeleteFunc(harness.Of(other.Started(), app), func(id string) bool { return !strings.HasSuffix(id, "_000001") })
			if (other == n) != (len(masters) == 1) {
				t.Errorf("%s has %d masters of %s", other.Name, len(masters), app)
			}
		}
	}
	return apps
}
