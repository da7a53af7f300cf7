package preemption

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// chooseForReservations chooses containers on reserved nodes so that their reservations can be
// fulfilled. Nodes on which the least must end come first.
//
// Source: Hadoop 3.4.2, ReservedContainerCandidatesSelector.
func (r *yarnRound) chooseForReservations() {
	take := r.toTake(entitlement.Mode{Reserved: true})
	type candidate struct {
		node state.NodeSlot
		cost uint64
	}
	var nodes []candidate
	for _, node := range reservedNodes(r.s.Views) {
		if size, ok := r.lookAtReserved(node, take); ok {
			nodes = append(nodes, candidate{node, r.ratio(size,
				r.s.State.Reservations.Get(r.s.State.Nodes.Get(node).Reservation).Size)})
		}
	}
	slices.SortStableFunc(nodes, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	for _, n := range nodes {
		r.chooseOnReserved(n.node, take)
	}
}

// lookAtReserved returns the size of the containers that must end on a node for its reservation. ok
// is false if they do not suffice, or if none need end. It judges each container separately.
func (r *yarnRound) lookAtReserved(node state.NodeSlot, take [][]yarn.Resource) (size yarn.Resource, ok bool) {
	return size, r.offerOnReserved(node, func(slot state.ContainerSlot, v yarn.Resource) bool {
		if !r.mayTake(slot, take) {
			return false
		}
		size = size.Add(v)
		return true
	})
}

// chooseOnReserved chooses containers of a node for its reservation: all that are needed, or none.
func (r *yarnRound) chooseOnReserved(node state.NodeSlot, take [][]yarn.Resource) {
	queue := r.s.Config.Queues[r.s.LeafOf(r.s.State.Apps.Get(r.s.State.Reservations.Get(r.s.State.Nodes.Get(node).Reservation).App))].Path
	partition := r.partitionOf(node)
	before := len(r.chosen)
	ok := r.offerOnReserved(node, func(slot state.ContainerSlot, size yarn.Resource) bool {
		if !r.mayTake(slot, take) {
			return false
		}
		of := &take[partition][r.leafOf(slot)]
		*of = of.Sub(size)
		r.choose(yarnChoice{container: slot, cause: yarn.PreemptReservation, queue: queue})
		return true
	})
	if ok {
		return
	}
	for _, c := range r.chosen[before:] {
		size := r.s.State.Containers.Get(c.container).Size
		of := &take[partition][r.leafOf(c.container)]
		*of, r.budget = of.Add(size), r.budget.Add(size)
		delete(r.isChosen, c.container)
	}
	r.chosen = r.chosen[:before]
}

// offerOnReserved offers the containers of a reserved node, the newest first, until the reservation
// fits. It skips AMs, and does not offer containers that are already chosen.
func (r *yarnRound) offerOnReserved(node state.NodeSlot,
	take func(slot state.ContainerSlot, size yarn.Resource) bool) bool {
	res := r.s.State.Reservations.Get(r.s.State.Nodes.Get(node).Reservation)
	room := r.s.RoomOn(node)
	if r.calc.FitsIn(res.Size, room) {
		return false
	}
	for _, slot := range r.liveOn(node, r.newer) {
		c := r.s.State.Containers.Get(slot)
		if c.AM || !r.isChosen[slot] && !take(slot, c.Size) {
			continue
		}
		if room = room.Add(c.Size); r.calc.FitsIn(res.Size, room) {
			return true
		}
	}
	return false
}

// mayTake reports whether the container's leaf must give at least this much, and the budget of the
// round allows it.
func (r *yarnRound) mayTake(slot state.ContainerSlot, take [][]yarn.Resource) bool {
	c := r.s.State.Containers.Get(slot)
	gives := take[r.partitionOf(c.Node)][r.leafOf(slot)]
	return !gives.IsZero() && r.calc.FitsIn(c.Size, gives) && r.calc.FitsIn(c.Size, r.budget)
}

// ratio returns the largest a[i]/b[i] over all resources, in units of 2^-32.
func (r *yarnRound) ratio(a, b yarn.Resource) (most uint64) {
	for i := range r.s.KindsThatCount() {
		most = max(most, yarn.Share(a[i], b[i]))
	}
	return most
}
