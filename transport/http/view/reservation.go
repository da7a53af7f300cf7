package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// ReservationID returns the id of a reservation, such as r41.
func ReservationID(number uint64) string { return "r" + strconv.FormatUint(number, 10) }

// Outcome returns what became of a reservation: 0 means that it was fulfilled.
func Outcome(cancelled yarn.CancelCause) string {
	switch cancelled {
	case 0:
		return "fulfilled"
	case yarn.CancelExchanged:
		return "moved"
	}
	return "cancelled"
}

// ReservationNumber parses an id such as r41, or 41.
func ReservationNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "r"), 10, 63)
	if err != nil || n == 0 {
		return 0, problem.Invalid(fmt.Sprintf("%q is not a reservation id", text),
			"give r41, as \"rmd reservation list\" shows it")
	}
	return n, nil
}

// Reservations returns the slots of the reservations that pass, oldest first.
func (v *View) Reservations(after uint64, pass func(r *state.Reservation) bool) []state.ReservationSlot {
	var out []state.ReservationSlot
	v.State.Reservations.Each(func(slot state.ReservationSlot, r *state.Reservation) bool {
		if r.Number > after && pass(r) {
			out = append(out, slot)
		}
		return true
	})
	slices.SortFunc(out, func(a, b state.ReservationSlot) int {
		return cmp.Compare(v.State.Reservations.Get(a).Number, v.State.Reservations.Get(b).Number)
	})
	return out
}

// Cancelled counts the cancellations by cause.
func (v *View) Cancelled() map[string]uint64 { return v.State.Meta.Cancelled.Named() }

// demand is the size of containers for which an application waits.
type demand struct {
	app  state.AppSlot
	size yarn.Resource
}

// waitingDemands returns the outstanding asks of all activated applications. The view computes them
// once.
func (v *View) waitingDemands() []demand {
	if v.demands != nil {
		return *v.demands
	}
	var out []demand
	v.Summary().Each(false, func(a *summary.App) bool {
		if a.Outstanding == 0 || a.Attempt != state.AttemptActive && a.Attempt != state.AttemptRegistered {
			return true
		}
		for _, k := range v.State.Asks.Of(v.State.Apps.Get(a.Slot)) {
			if k.Count > 0 {
				out = append(out, demand{a.Slot, k.Size})
			}
		}
		return true
	})
	v.demands = &out
	return out
}

// blocked counts the other applications with an ask that fits into the free room of a reserved
// node.
func (v *View) blocked(app state.AppSlot, free yarn.Resource) int {
	calc := v.Calculator()
	var n int
	var last state.AppSlot
	for _, d := range v.waitingDemands() {
		if d.app != app && d.app != last && calc.FitsIn(d.size, free) {
			n++
			last = d.app
		}
	}
	return n
}

// Reservation returns the document of a reservation.
func (v *View) Reservation(r *state.Reservation) api.Reservation {
	a, n := v.State.Apps.Get(r.App), v.State.Nodes.Get(r.Node)
	free := n.Unallocated()
	d := api.Reservation{
		ID: ReservationID(r.Number), Node: n.ID.String(), App: a.ID.String(), Attempt: r.Attempt, Queue: v.QueuePath(a.Queue),
		User:      v.State.Names.Text(a.User),
		Container: yarn.ContainerID{App: a.ID, Attempt: r.Attempt, Number: r.Container}.String(), Priority: r.Key.Priority,
		AllocationID: r.Key.AllocationID,
		Size:         v.Size(r.Size), AM: r.AM, NodeTotal: v.Size(n.Total), Free: v.Size(free),
		Missing:    v.Size(yarn.ComponentMax(r.Size.Sub(free), yarn.Resource{})),
		MadeMillis: r.MadeMillis, AgeMillis: max(v.NowMillis-r.MadeMillis, 0), Blocks: v.blocked(r.App, free),
	}
	if ask := v.State.Asks.Find(a, r.Key); ask != 0 {
		d.ReReservations = v.State.Asks.Get(ask).ReReservations
	}
	for range v.State.LeasedFrom(r) {
		d.Lent++
	}
	return d
}
