//go:build interop

package interop

import (
	"strings"
	"testing"

	"rmd/interop/harness"
)

// TestProcesses runs command lines in their own JVMs, as a shell does: one that succeeds, one that
// fails, and one that draws a screen.
func TestProcesses(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Nodes: 1})
	for _, line := range []string{"node -list", "application -status application_1_0001", "rmadmin -refreshQueues"} {
		alone, batched := c.Yarn(strings.Fields(line)...), c.Batch(line)[0]
		if alone.Code != batched.Code || c.Normal(alone.Out) != c.Normal(batched.Out) {
			t.Errorf("%s: alone %s\nin a batch %s", line, alone.Last(), batched.Last())
		}
	}
	r := c.Top(2)
	for _, says := range []string{"YARN top", "NodeManager(s): 1 total, 1 active", "Queue(s) Applications: 0 running"} {
		if !strings.Contains(r.Out, says) {
			t.Errorf("yarn top does not say %q: %s", says, r.Last())
		}
	}
}
