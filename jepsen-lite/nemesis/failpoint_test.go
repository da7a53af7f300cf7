package nemesis

import (
	"testing"
)

// TestLeastTried checks that every site of a list is tried once before any is tried again, and that
// every site is complete.
func TestLeastTried(t *testing.T) {
	e := testEnv(nil)
	for name, list := range map[string][]site{"writing": writing, "leading": leading, "electing": electing,
		"making": making, "starting": starting, "changing": changing, "restarting": restarting} {
		e.tried = nil
		for round := 1; round <= 3; round++ {
			for range list {
				e.leastTried(list)
			}
			for _, s := range list {
				if e.tried[s.point] != round {
					t.Errorf("%s: %s was tried %d times in %d rounds", name, s.point, e.tried[s.point], round)
				}
				if s.point == "" || s.times < 1 || s.who == nil || s.bring == nil {
					t.Errorf("%s: %+v is not complete", name, s)
				}
			}
		}
	}
}
