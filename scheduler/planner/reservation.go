package planner

import (
	"rmd/scheduler/input"
)

func (p *Planner) cancelReservation(in *input.CancelReservation) input.Reply {
	if p.st.Reservations.Find(in.Number) == 0 {
		return input.Refuse(in, input.Faultf(input.NoSuchReservation, "see \"rmd reservation list\"", "there is no reservation r%d", in.Number))
	}
	p.sched.CancelReservation(in.Number)
	return in.NewReply()
}
