package gss

import (
	"runtime"
	"strings"
	"testing"
)

func TestCheckPath(t *testing.T) {
	paths := func(client, service string) ([]string, bool) {
		through, found := map[[2]string][]string{
			{"A", "B"}:                  {"HUB"},
			{"A", "C"}:                  {"HUB", "HUB2"},
			{"A", "DIRECT"}:             {},
			{"A.PATHS", "B.PATHS"}:      {"X.PATHS"}, // in place of PATHS
			{"A.TREE", "SERVICE.OTHER"}: {"TREE", "OTHER"},
		}[[2]string{client, service}]
		return through, found
	}
	for _, c := range []struct {
		client, service, through string
		ok                       bool
	}{
		{"A.EXAMPLE", "B.EXAMPLE", "EXAMPLE", true},
		{"A.EXAMPLE", "B.EXAMPLE", ",", true},
		{"A.EXAMPLE", "B.EXAMPLE", "EXAMPLE,", true},
		{"X.A.EXAMPLE", "Y.B.EXAMPLE", "EXAMPLE,A.,B.EXAMPLE", true},
		{"X.A.EXAMPLE", "Y.B.EXAMPLE", "EXAMPLE, A.EXAMPLE", true},
		{"X.A.EXAMPLE", "EXAMPLE", "A.EXAMPLE", true},
		{"EXAMPLE", "X.A.EXAMPLE", "A.EXAMPLE", true},
		{"A.EXAMPLE", "B.EXAMPLE", "EVIL", false},
		{"A.EXAMPLE", "B.EXAMPLE", "C.EXAMPLE", false},
		{"A.EXAMPLE", "B.EXAMPLE", "EXAMPLE,EVIL.", false},
		{"A.EXAMPLE", "B.EXAMPLE", `EXAM\,PLE`, false},
		{"A.EXAMPLE", "B.EXAMPLE", "/C=XX", false},
		{"EVIL", "EXAMPLE", "EXAMPLE", false},
		{"EVIL", "EXAMPLE", ",", false},
		{"A.EVIL", "B.EXAMPLE", "EVIL,EXAMPLE", false},
		{"X.A.EXAMPLE", "EXAMPLE", "A.EXAMPLE,,", true},

		{"A", "B", "HUB", true},
		{"A", "C", "HUB,HUB2", true},
		{"A", "C", "HUB2", true},
		{"A", "B", "EVIL", false},
		{"A", "B", "HUB,EVIL", false},
		{"A", "B", "HUB2", false},
		{"B", "A", "HUB", false}, // a path holds in one direction
		{"A", "DIRECT", "HUB", false},
		{"A.PATHS", "B.PATHS", "X.PATHS", true},
		{"A.PATHS", "B.PATHS", "PATHS", false},
		{"A.PATHS", "B.PATHS", ",", false}, // through PATHS
		{"A.TREE", "SERVICE.OTHER", "TREE,OTHER", true},
		{"A.TREE", "SERVICE.OTHER", ",TREE,OTHER,", true},
		{"A.TREE", "SERVICE.OTHER", ",", false},
	} {
		if err := checkPath(c.client, c.service, c.through, paths); (err == nil) != c.ok {
			t.Errorf("from %s to %s through %q: %v", c.client, c.service, c.through, err)
		}
	}
}

// TestLongPath checks that the KDC of another realm cannot use up the memory with a list whose items
// each repeat those before.
func TestLongPath(t *testing.T) {
	none := func(string, string) ([]string, bool) { return nil, false }
	for _, n := range []int{1000, 80_000} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := checkPath("A.EXAMPLE", "EXAMPLE", "EXAMPLE,"+strings.Repeat("x.,", n), none); err == nil {
			t.Errorf("%d realms outside the tree are accepted", n)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%d realms need %d MiB", n, used>>20)
		}
	}
}
