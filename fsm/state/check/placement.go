package check

import (
	"fmt"

	"rmd/fsm/state/record"
)

func (s *Tables) CheckPlacements() (err error) {
	s.Placements.Each(func(slot record.AppSlot, p *record.Placement) bool {
		if p.Rule == 0 {
			err = fmt.Errorf("application %s was placed by rule 0", s.Apps.Get(slot).ID)
		}
		return err == nil
	})
	return err
}
