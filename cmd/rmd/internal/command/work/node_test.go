package work

import (
	"strings"
	"testing"
	"time"

	"rmd/api"
)

// TestDeadlineOfADrain checks that the deadline of a drain cannot be read as who drains the node.
func TestDeadlineOfADrain(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 23, 54, 0, time.Local)
	told := func(n api.Node) (out string) {
		for _, f := range nodeFacts(api.Placement{Node: n}) {
			if strings.HasPrefix(f.Name, "drain") {
				out += f.Name + ": " + f.Value + "\n"
			}
		}
		return out
	}
	if got := told(api.Node{ID: "n1:1", DeadlineMillis: at.UnixMilli()}); !strings.HasPrefix(got, "drain until: ") ||
		!strings.HasSuffix(got, "10:23:54 at most; then its containers end and it is decommissioned\n") {
		t.Errorf("a node that drains: %q", got)
	}
	if got := told(api.Node{ID: "n1:1"}); got != "" {
		t.Errorf("a node that does not drain: %q", got)
	}
}
