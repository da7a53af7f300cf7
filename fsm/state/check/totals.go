package check

import (
	"fmt"

	"rmd/fsm/state/record"
)

// CheckTotals compares the counters of the root queue with those of the cluster: every application
// that was ever submitted is there or gone.
func (s *Tables) CheckTotals() error {
	root := s.Queues.Root()
	if root == 0 {
		return nil
	}
	t, apps := &s.Queues.Get(root).Totals, uint64(0)
	s.Apps.Each(func(_ record.AppSlot, a *record.App) bool {
		apps += uint64(count(a.Queue != 0))
		return true
	})
	apps += t.Gone.Sum()
	if apps != s.Meta.Submitted || t.Containers() != s.Meta.Allocated || t.Released != s.Meta.Completed {
		return fmt.Errorf("the root queue counts %d applications, %d containers and %d ended ones; the cluster %d, %d and %d",
			apps, t.Containers(), t.Released, s.Meta.Submitted, s.Meta.Allocated, s.Meta.Completed)
	}
	return nil
}
