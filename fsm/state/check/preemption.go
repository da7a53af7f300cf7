package check

import (
	"fmt"

	"rmd/fsm/state/record"
	"rmd/yarn"
)

// CheckPreemptions checks that only live containers have preemption warnings, that a warning's
// reservation is on the same node, and that warnings not delivered yet are in the undelivered list.
func (s *Tables) CheckPreemptions() error {
	var err error
	s.Preemptions.Each(func(slot record.ContainerSlot, p *record.Preemption) bool {
		c := s.Containers.Get(slot)
		switch {
		case !c.State.Live() || !c.OnNode || !p.Cause.Known() || p.DeadlineMillis < p.AskedMillis || p.Under.Negative() ||
			p.Over.Negative():
			err = fmt.Errorf("container %s is %s and warned for %s until %d", s.Apps.ContainerID(c), c.State, p.Cause,
				p.DeadlineMillis)
		case p.Reservation != 0 && !s.Reservations.MakesRoom(slot, c, p.Reservation):
			err = fmt.Errorf("container %s is warned for reservation r%d, which its end does not help", s.Apps.ContainerID(c),
				p.Reservation)
		case p.Cause == yarn.PreemptLease && !s.Leases.From(slot, p.Reservation):
			err = fmt.Errorf("container %s is to give back what r%d has not lent it", s.Apps.ContainerID(c), p.Reservation)
		case p.ToldIn == 0 && s.Apps.Get(c.App).AttemptState == record.AttemptRegistered && !c.Undelivered:
			err = fmt.Errorf("the warning of container %s is in no undelivered list", s.Apps.ContainerID(c))
		}
		return err == nil
	})
	s.Preempted.Each(func(slot record.AppSlot, p *record.Preempted) bool {
		if p.Containers+p.AMs == 0 || p.Size.Negative() || p.ResourceSeconds.Negative() {
			err = fmt.Errorf("application %s has lost %s in %d containers", s.Apps.Get(slot).ID, p.Size, p.Containers+p.AMs)
		}
		return err == nil
	})
	return err
}
