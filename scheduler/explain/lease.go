package explain

import (
	"fmt"

	"rmd/fsm/state"
)

// explainLeases says which containers of the application run in the room of reserved nodes, and
// until when. It also says to which containers the application's own reservations have lent room.
func (v view) explainLeases(x *Explanation, a *state.App) {
	if v.st.Leases.Len() == 0 {
		return
	}
	for slot, c := range v.st.Containers.Of(a) {
		if v.st.Leases.Has(slot) {
			x.Leases = append(x.Leases, v.leaseOf(slot, c))
		}
	}
	for _, r := range v.st.Reservations.Of(a) {
		for slot, c := range v.st.LeasedFrom(r) {
			l := v.leaseOf(slot, c)
			l.Lends = true
			x.Leases = append(x.Leases, l)
		}
	}
}

func (v view) leaseOf(slot state.ContainerSlot, c *state.Container) Lease {
	l := v.st.Leases.Get(slot)
	out := Lease{Container: v.st.Apps.ContainerID(c).String(), Node: v.st.Nodes.Get(c.Node).ID.String(),
		Reservation:    fmt.Sprintf("r%d", l.Reservation),
		DeadlineMillis: l.DeadlineMillis}
	switch {
	case v.st.Preemptions.Has(slot):
		out.DeadlineMillis = v.st.Preemptions.Get(slot).DeadlineMillis
		out.Text = "the reservation needs the room, and the container has been told to end"
	case l.DeadlineMillis == 0:
		out.Text = "it ends when the reservation needs the room"
	default:
		out.Text = fmt.Sprintf("it ends in %d s at the latest; the reservation cannot be fulfilled before",
			max(l.DeadlineMillis-v.st.Meta.NowMillis, 0)/1000)
	}
	return out
}
