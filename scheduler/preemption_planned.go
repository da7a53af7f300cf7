package scheduler

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// nodesCompared is how many nodes have their cheapest set computed for one ask: those that promise
// most by a look at their sums.
const nodesCompared = 32

// choose finds sets of containers for what leaves below their entitlement wait for: those that use the
// least of their guarantee first, their applications in serving order, the asks of each in key order.
func (r *preemptionRound) choose() {
	var gaining []int32
	giving := r.s.st.Reservations.Len() > 0
	for i := range r.leaves {
		giving = giving || r.gives(int32(i))
		if len(r.p.queues[i].active) > 0 && r.mayGain(int32(i), yarn.Resource{}) {
			gaining = append(gaining, int32(i))
		}
	}
	if !giving {
		return
	}
	slices.SortStableFunc(gaining, func(a, b int32) int {
		return r.p.queues[a].key.Used.Cmp(r.p.queues[b].key.Used)
	})
	for _, leaf := range gaining {
		for _, app := range slices.Clone(r.p.queues[leaf].active) {
			if r.spent() {
				return
			}
			r.chooseForApp(leaf, app)
		}
	}
}

// spent says whether the round has done what it may.
func (r *preemptionRound) spent() bool {
	return r.scans <= 0 || r.sets <= 0 || !r.s.cfg.Calculator.AnyAboveZero(*r.budget)
}

func (r *preemptionRound) chooseForApp(leaf int32, app uint32) {
	a := r.s.st.Apps.Get(app)
	if ok, _ := r.s.userCheck(leaf, a); !ok {
		return
	}
	for slot, k := range r.s.st.AsksOf(a) {
		if k.Count > 0 && k.Label == r.p.label && !r.spent() && !r.s.st.HoldsBack(k) {
			w := beneficiary{leaf: leaf, app: app, ask: slot}
			r.chooseForReservations(w)
			r.chooseForAsk(w)
		}
	}
}

// beneficiary is the ask that gains.
type beneficiary struct {
	leaf     int32
	app, ask uint32
}

// chooseForReservations makes room for the reservations of an ask that have waited long enough, the
// oldest first. A starving ask may have more reservations than it wants containers: no more of them get
// room than it wants.
func (r *preemptionRound) chooseForReservations(w beneficiary) {
	st, k := r.s.st, r.s.st.Asks.Get(w.ask)
	if k.Reservations == 0 || r.set.ReservationWaitMillis < 0 {
		return
	}
	var waiting []uint32
	wanted := k.Count
	for slot, res := range st.ReservationsOf(st.Apps.Get(w.app)) {
		switch {
		case res.Key != k.Key || res.IncreaseOf != k.IncreaseOf || st.Nodes.Get(res.Node).Label != r.p.label:
		case r.awaited(res):
			wanted--
		case res.MadeMillis+r.set.ReservationWaitMillis <= r.s.now:
			waiting = append(waiting, slot)
		}
	}
	slices.SortFunc(waiting, func(a, b uint32) int {
		return cmp.Compare(st.Reservations.Get(a).Number, st.Reservations.Get(b).Number)
	})
	for _, slot := range waiting {
		if wanted <= 0 || r.spent() || !r.mayGain(w.leaf, yarn.Resource{}) {
			return
		}
		if r.chooseForReservation(w, st.Reservations.Get(slot)) {
			wanted--
		}
	}
}

// dearerBy is how many times the work that a set loses on a reserved node must be that of a set on
// another node for the reservation to move there.
const dearerBy = 2

// chooseForReservation makes room on the reserved node, or on another one where much less work is lost.
// It reports whether it did.
func (r *preemptionRound) chooseForReservation(w beneficiary, res *state.Reservation) bool {
	r.lookAtNodes()
	home := r.nodeAt(res.Node)
	own, atHome := r.cheapest(home, w, false)
	var others []preemptionSet
	if r.mayMove(res, r.s.st.Asks.Get(w.ask)) {
		others, _ = r.compare(w, nodesCompared, false)
	}
	if !atHome && len(others) == 0 {
		own, atHome = r.cheapest(home, w, true)
	}
	if len(others) > 0 && r.worth(w, others[0].cost) && (!atHome || others[0].cost < own.cost/dearerBy) {
		others[0].compared += own.compared
		if r.reserveFor(w, &others[0], res) {
			return true
		}
	}
	if !atHome || !r.worth(w, own.cost) {
		return false
	}
	for i := range others {
		own.compared += others[i].compared
	}
	r.gain(w.leaf, res.Size, yarn.Resource{})
	r.warn(w, &own, res.Number, yarn.PreemptReservation)
	return true
}

// chooseForAsk reserves nodes for what an ask wants beside its reservations, as far as its queue is
// entitled to it and no room is free for it anyway. Sets with AMs are the last resort.
func (r *preemptionRound) chooseForAsk(w beneficiary) {
	for _, masters := range []bool{false, true} {
		k := r.s.st.Asks.Get(w.ask)
		more := k.Count - int64(k.Reservations)
		if more <= 0 || !r.mayGain(w.leaf, k.Size) || r.spent() {
			return
		}
		r.lookAtNodes()
		sets, free := r.compare(w, int(min(max(2*more, nodesCompared), preemptionSets)), masters)
		if free > 0 {
			r.unblock(w)
		}
		for _, set := range sets {
			if !r.worth(w, set.cost) || free >= more || r.spent() || !r.mayGain(w.leaf, k.Size) {
				return
			}
			// Its queues may have given something since it was compared.
			now, ok := r.cheapest(set.node, w, masters)
			if now.compared = set.compared; ok && r.reserveFor(w, &now, nil) {
				more--
			}
		}
		if dear := len(sets) > 0 && !r.worth(w, sets[0].cost); free > 0 || dear {
			return
		}
	}
}

// unblock drops a reservation, the newest that will do, if what is reserved for queues above their
// guarantee counts so much in the queues above that an ask may not take the room that is free for it.
func (r *preemptionRound) unblock(w beneficiary) {
	size := r.s.st.Asks.Get(w.ask).Size
	if r.withinMaxima(w.leaf, size) {
		return
	}
	var newest *state.Reservation
	for i := range r.nodes {
		slot := r.nodes[i].reservation
		if slot == 0 || r.nodes[i].taken || !r.mayDrop(slot, w) {
			continue
		}
		if res := r.s.st.Reservations.Get(slot); (newest == nil || res.Number > newest.Number) && r.wouldUnblock(res, w.leaf, size) {
			newest = res
		}
	}
	if newest != nil {
		o := &r.nodes[r.nodeAt(newest.Node)]
		r.drop(o.reservation)
		o.reservation = 0
		r.gain(w.leaf, size, size)
	}
}

// wouldUnblock says whether a queue and those above it are within their maxima with a size more, when a
// reservation has gone.
func (r *preemptionRound) wouldUnblock(res *state.Reservation, leaf int32, size yarn.Resource) bool {
	from := r.s.LeafOf(r.s.st.Apps.Get(res.App))
	if !r.mayLose([]victim{{leaf: from, loses: res.Size}}) {
		return false
	}
	r.ask(from, res.Size, 1)
	defer r.ask(from, res.Size, -1)
	return r.withinMaxima(leaf, size)
}

// compare finds the cheapest set of each of the nodes that promise most for an ask, the cheapest
// first, and counts the containers for which there is room anyway.
func (r *preemptionRound) compare(w beneficiary, most int, masters bool) (sets []preemptionSet, free int64) {
	r.scans--
	k := r.s.st.Asks.Get(w.ask)
	hopes := hopefulNodes{most: most}
	for i := range r.nodes {
		o := &r.nodes[i]
		if o.taken || o.reservation != 0 && !r.mayDrop(o.reservation, w) {
			continue
		}
		if o.reservation == 0 && r.covers(o.room, k.Size) {
			if r.usable(o, w) {
				free += r.s.cfg.Calculator.AvailableContainers(o.room, k.Size)
			}
			continue
		}
		if work, ok := r.atBest(o, k.Size); ok && hopes.wants(work) && r.usable(o, w) {
			hopes.add(work, i)
		}
	}
	compared := uint32(0)
	for _, h := range hopes.list() {
		if set, ok := r.cheapest(h.node, w, masters); ok {
			compared += set.compared
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, comparePreemptionSets)
	for i := range sets {
		sets[i].compared = compared
	}
	return sets, free
}

// atBest is the least work that room for a size could cost on a node; false when there is no way. Most
// asks of a round are for the same sizes, so the last answer is kept.
func (r *preemptionRound) atBest(o *offeringNode, size yarn.Resource) (work uint64, ok bool) {
	if o.asked != size {
		o.asked, o.possible = size, r.covers(o.room.Add(o.potential), size)
		o.work = r.cost(o.cheapest, size.Sub(o.room))
	}
	return o.work, o.possible
}

// hopefulNodes keeps the nodes with the least work to lose at best.
type hopefulNodes struct {
	most  int
	nodes []hopefulNode
	worst uint64 // of those kept, once there are enough
}

type hopefulNode struct {
	work uint64
	node int // index in the round's nodes
}

func (h *hopefulNodes) wants(work uint64) bool { return len(h.nodes) < h.most || work < h.worst }

func (h *hopefulNodes) add(work uint64, node int) {
	if h.nodes = append(h.nodes, hopefulNode{work, node}); len(h.nodes) >= 2*h.most {
		h.cut()
	}
}

func (h *hopefulNodes) cut() {
	slices.SortFunc(h.nodes, func(a, b hopefulNode) int {
		return cmp.Or(cmp.Compare(a.work, b.work), cmp.Compare(a.node, b.node))
	})
	h.nodes = h.nodes[:min(len(h.nodes), h.most)]
	if len(h.nodes) == h.most {
		h.worst = h.nodes[h.most-1].work
	}
}

func (h *hopefulNodes) list() []hopefulNode {
	h.cut()
	return h.nodes
}

// usable says whether an ask may reserve a node.
func (r *preemptionRound) usable(o *offeringNode, w beneficiary) bool {
	st := r.s.st
	n, k, a := st.Nodes.Get(o.node), st.Asks.Get(w.ask), st.Apps.Get(w.app)
	return r.s.cfg.Calculator.FitsIn(k.Size, n.Total) && r.s.reachOf(k, o.node).usable() && !a.Blacklisted(n)
}
