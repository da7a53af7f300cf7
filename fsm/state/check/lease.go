package check

import (
	"fmt"

	"rmd/fsm/state/record"
)

// CheckLeases checks that only live containers have leases, and that the reservation is on the same
// node.
func (s *Tables) CheckLeases() error {
	var err error
	s.Leases.Each(func(slot record.ContainerSlot, l *record.Lease) bool {
		c := s.Containers.Get(slot)
		r := s.Reservations.Find(l.Reservation)
		if !c.State.Live() || !c.OnNode || c.AM || r == 0 || s.Reservations.Get(r).Node != c.Node || l.DeadlineMillis < 0 {
			err = fmt.Errorf("container %s is %s and has a lease of r%d until %d", s.Apps.ContainerID(c), c.State, l.Reservation,
				l.DeadlineMillis)
		}
		return err == nil
	})
	return err
}
