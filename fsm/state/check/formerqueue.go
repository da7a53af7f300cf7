package check

import (
	"fmt"

	"rmd/fsm/state/record"
)

func (s *Tables) CheckFormerQueues() (err error) {
	s.FormerQueues.Each(func(slot record.AppSlot, f *record.FormerQueue) bool {
		if !s.Apps.Has(slot) || s.Apps.Get(slot).Queue != 0 || f.Path == "" {
			err = fmt.Errorf("%w: former queue %q at slot %d", ErrInconsistent, f.Path, slot)
		}
		return err == nil
	})
	return err
}
