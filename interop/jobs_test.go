//go:build interop

package interop

import (
	"fmt"
	"strings"
	"testing"

	"rmd/interop/harness"
)

// TestJobs runs the first jobs that users run.
func TestJobs(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), History: true})
	t.Run("DistributedShell", func(t *testing.T) { distributedShell(t, c) })
	t.Run("Pi", func(t *testing.T) { pi(t, c) })
	t.Run("WordCount", func(t *testing.T) { wordCount(t, c) })
	for _, n := range c.Nodes {
		if r := n.Resyncs(); r != 0 {
			t.Errorf("%s was made to register again %d times", n.Name, r)
		}
	}
}

// succeeded fails the test if the client's exit code is not 0 or if its output does not contain the
// texts.
func succeeded(t testing.TB, r harness.Result, says ...string) {
	t.Helper()
	if r.Code != 0 {
		t.Fatalf("a command of Hadoop failed, want exit code 0: %s", r.Last())
	}
	for _, s := range says {
		if !strings.Contains(r.Text(), s) {
			t.Fatalf("it does not say %q: %s", s, r.Last())
		}
	}
}

func distributedShell(t *testing.T, c *harness.Cluster) {
	r := c.Shell(harness.Shell{Containers: 4, Command: "date"})
	succeeded(t, r, "Application completed successfully")
	t.Logf("took %s", r.Took)
	r = c.Shell(harness.Shell{Name: "batch", Queue: "batch", Command: "false"})
	if r.Code != 2 {
		t.Fatalf("a failing command ended with %s", r.Last())
	}
}

func pi(t *testing.T, c *harness.Cluster) {
	r := c.Pi(2, 1000)
	succeeded(t, r, "Estimated value of Pi is 3.14")
	t.Logf("took %s", r.Took)
}

// wordCount uses two maps and two reduces, so that map output moves between nodes.
func wordCount(t *testing.T, c *harness.Cluster) {
	var a, b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&a, "queue q%d\n", i%10)
		fmt.Fprintf(&b, "node q%d\n", i%5)
	}
	r, counted := c.WordCount(a.String(), b.String())
	succeeded(t, r)
	t.Logf("took %s", r.Took)
	want := []string{"queue\t200", "node\t200", "q0\t60", "q9\t20"}
	for _, w := range want {
		if !strings.Contains("\n"+counted, "\n"+w+"\n") {
			t.Errorf("%q is not among\n%s", w, counted)
		}
	}
}
