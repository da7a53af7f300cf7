package check

import (
	"fmt"

	"rmd/fsm/state/record"
)

// CheckGangs checks that gangs belong to applications that have not ended, that the state of each
// gang agrees with its ask, and that only applications with gangs have reservations for gang
// members.
func (s *Tables) CheckGangs() (err error) {
	s.Gangs.Each(func(app record.AppSlot, g *record.Gang) bool {
		if !s.Apps.Has(app) || s.Apps.Get(app).State.Ended() {
			err = fmt.Errorf("slot %d has a gang and no application that may have one", app)
			return false
		}
		err = s.checkGang(app, g)
		return err == nil
	})
	s.Reservations.Each(func(_ record.ReservationSlot, r *record.Reservation) bool {
		if r.Members != 0 && !s.Gangs.Has(r.App) {
			err = fmt.Errorf("reservation r%d is for %d members of no gang", r.Number, r.Members)
		}
		return err == nil
	})
	return err
}

func (s *Tables) checkGang(app record.AppSlot, g *record.Gang) error {
	a := s.Apps.Get(app)
	asked := int64(0)
	if ask := s.Asks.Find(a, g.Key); g.Bound && ask != 0 {
		asked = s.Asks.Get(ask).Count
	}
	switch {
	case !g.Spec.Valid() || g.State > record.GangOver || (g.Left > 0) != (g.State == record.GangStarting) ||
		g.Left > g.Spec.Count:
		return fmt.Errorf("the gang of %s is %+v", a.ID, g)
	case g.HoldsBack() && (g.Bound != (asked > 0) ||
		(g.State == record.GangWaiting) != (g.Bound && asked >= g.Spec.Count)):
		return fmt.Errorf("the gang of %s is in state %d with %d asked", a.ID, g.State, asked)
	case (g.State == record.GangWaiting) != (g.SinceMillis != 0) && g.HoldsBack():
		return fmt.Errorf("the gang of %s waits since %d in state %d", a.ID, g.SinceMillis, g.State)
	}
	return nil
}
