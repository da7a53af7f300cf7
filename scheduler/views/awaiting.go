package views

import (
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// awaitingPreemption returns the size of a queue's reservations on these nodes that wait
// for warned containers. Reservations that wait for borrowers do not count.
func (v *View) awaitingPreemption(i int32) yarn.Resource {
	if v.At.awaiting == nil {
		v.At.awaiting = v.sumAwaiting()
	}
	return v.At.awaiting[i]
}

func (v *View) sumAwaiting() []yarn.Resource {
	var numbers []uint64
	v.State.Preemptions.Each(func(_ state.ContainerSlot, p *state.Preemption) bool {
		if p.Reservation != 0 && p.Cause != yarn.PreemptLease {
			numbers = append(numbers, p.Reservation)
		}
		return true
	})
	slices.Sort(numbers)
	sums := make([]yarn.Resource, len(v.Config.Queues))
	for _, number := range slices.Compact(numbers) {
		r := v.State.Reservations.Get(v.State.Reservations.Find(number))
		if !v.Here(r) {
			continue
		}
		for i := v.LeafOfReservation(r); i >= 0; i = v.Queues[i].Parent {
			sums[i] = sums[i].Add(r.Size)
		}
	}
	return sums
}

// awaits reports whether a reservation waits for warned containers that have not borrowed its room.
func (s *Views) awaits(r *state.Reservation) bool {
	for _, p := range s.State.PreemptedFor(r) {
		if p.Cause != yarn.PreemptLease {
			return true
		}
	}
	return false
}

// forgetAwaiting discards the cached results of awaitingPreemption.
func (s *Views) forgetAwaiting() {
	for _, p := range s.Partitions {
		p.awaiting = nil
	}
}

// HasPreempted reports whether containers were preempted for a reservation and have not ended on
// their node yet.
func (s *Views) HasPreempted(r *state.Reservation) bool {
	if !s.Config.Preemption.Enabled {
		return false
	}
	for _, c := range s.State.Containers.On(s.State.Nodes.Get(r.Node)) {
		if !c.State.Live() && c.ExitStatus == yarn.ExitPreempted {
			return s.Config.Calculator.FitsIn(r.Size, s.RoomOn(r.Node))
		}
	}
	return false
}

// PreemptedFor counts the reservations of an ask whose room comes from preempted containers that
// have not ended on their nodes yet. The ask must not take room elsewhere instead of them, or the
// containers would have ended for nothing.
func (s *Views) PreemptedFor(a *state.App, k *state.Ask) (n int64) {
	if k.Reservations == 0 || !s.Config.Preemption.Enabled {
		return 0
	}
	for _, r := range s.State.Reservations.Of(a) {
		if r.Key == k.Key && r.IncreaseOf == k.IncreaseOf && s.HasPreempted(r) {
			n++
		}
	}
	return n
}

// RoomOn returns the free room of a node, plus the room of ended containers that the NodeManager
// has not reported yet, plus the room of leases.
func (s *Views) RoomOn(node state.NodeSlot) yarn.Resource {
	n := s.State.Nodes.Get(node)
	room := n.Unallocated()
	for slot, c := range s.State.Containers.On(n) {
		if !c.State.Live() || s.State.Leases.Has(slot) {
			room = room.Add(c.Size)
		}
	}
	return room
}

// LeafOfReservation returns the leaf to which a reservation is charged.
func (s *Views) LeafOfReservation(res *state.Reservation) int32 {
	return s.LeafOf(s.State.Apps.Get(res.App))
}

// Here reports whether a reservation is on one of these nodes.
func (v *View) Here(r *state.Reservation) bool {
	return len(v.Partitions) == 1 || v.State.Nodes.Get(r.Node).Label == v.At.Label
}

// Borrowed reports whether containers have borrowed room of a reservation.
func (s *Views) Borrowed(r *state.Reservation) bool {
	for range s.State.LeasedFrom(r) {
		return true
	}
	return false
}
