package sim

import (
	"testing"

	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/settings"
	"rmd/snapshot"
)

// TestContents compares contents with snapshot.Sum: both distinguish the same states, and replicas
// that have applied the same entries have the same digest.
func TestContents(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		mine, theirs := map[[32]byte]bool{}, map[[32]byte]bool{}
		look := func() {
			if !s.inStep(10 * election) {
				return
			}
			for _, r := range s.rs {
				mine[checker.Contents(s.state(r))], theirs[snapshot.Sum(s.state(r))] = true, true
			}
		}
		look()
		s.addNodes(8, "n1")
		look()
		s.submit("app1", "a", 0, "")
		look()
		s.ask("app1", 1, 1, 2)
		s.beat("n1")
		look()
		if len(mine) != len(theirs) || len(mine) != 4 {
			t.Errorf("%d digests of contents, %d of the product's, of four states", len(mine), len(theirs))
		}
	})
}
