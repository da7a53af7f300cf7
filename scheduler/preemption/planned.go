package preemption

import (
	"cmp"
	"math"
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// nodesCompared is the number of nodes whose cheapest set is computed for one ask: the nodes with
// the lowest lower bounds of lost work.
const nodesCompared = 32

// choose finds sets of containers for leaves below their entitlement. The leaves that use the least
// of their guarantee come first, then their applications in serving order, then the asks of each in
// key order.
func (r *round) choose() {
	var gaining []int32
	giving := r.s.State.Reservations.Len() > 0
	for i := range r.leaves {
		giving = giving || r.gives(int32(i)) || r.givesLate(int32(i))
		if len(r.s.At.Queues[i].Active) > 0 && r.mayGain(int32(i), yarn.Resource{}) {
			gaining = append(gaining, int32(i))
		}
	}
	if !giving {
		return
	}
	slices.SortStableFunc(gaining, func(a, b int32) int {
		return r.s.At.Queues[a].Key.Used.Cmp(r.s.At.Queues[b].Key.Used)
	})
	for _, leaf := range gaining {
		for _, app := range slices.Clone(r.s.At.Queues[leaf].Active) {
			if r.spent() {
				return
			}
			r.chooseForApp(leaf, app)
		}
	}
}

// spent reports whether the round has reached one of its bounds.
func (r *round) spent() bool {
	return r.scans <= 0 || r.sets <= 0 || !r.s.Config.Calculator.AnyAboveZero(*r.budget)
}

func (r *round) chooseForApp(leaf int32, app state.AppSlot) {
	a := r.s.State.Apps.Get(app)
	if ok, _ := r.s.UserCheck(leaf, a); !ok {
		return
	}
	for slot, k := range r.s.State.Asks.Of(a) {
		if k.Count > 0 && k.Label == r.s.At.Label && !r.spent() && !r.s.State.Gangs.HoldsBack(k) {
			w := beneficiary{leaf: leaf, app: app, ask: slot}
			r.chooseForReservations(w)
			r.chooseForAsk(w)
		}
	}
}

// beneficiary is the ask for which the round makes room.
type beneficiary struct {
	leaf int32
	app  state.AppSlot
	ask  state.AskSlot
}

// chooseForReservations makes room for the reservations of an ask that have waited long enough, the
// oldest first. A starving ask may have more reservations than it wants containers. Only as many of
// them get room as it wants containers.
func (r *round) chooseForReservations(w beneficiary) {
	st, k := r.s.State, r.s.State.Asks.Get(w.ask)
	if k.Reservations == 0 || r.set.ReservationWaitMillis < 0 {
		return
	}
	var waiting []state.ReservationSlot
	wanted := k.Count
	for slot, res := range st.Reservations.Of(st.Apps.Get(w.app)) {
		switch {
		case res.Key != k.Key || res.IncreaseOf != k.IncreaseOf || st.Nodes.Get(res.Node).Label != r.s.At.Label:
		case r.awaited(res):
			wanted--
		case res.MadeMillis+r.set.ReservationWaitMillis <= r.now:
			waiting = append(waiting, slot)
		}
	}
	slices.SortFunc(waiting, func(a, b state.ReservationSlot) int {
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

// moveCostFactor is a factor: a reservation moves to another node only if a set there loses less than
// 1/moveCostFactor of the work that a set on the reserved node loses.
const moveCostFactor = 2

// chooseForReservation makes room on the reserved node, or on another node where much less work is
// lost. It reports whether it found a set.
func (r *round) chooseForReservation(w beneficiary, res *state.Reservation) bool {
	r.lookAtNodes()
	home := r.nodeAt(res.Node)
	own, atHome := r.cheapest(home, w, false)
	var others []victimSet
	if r.mayMove(res, r.s.State.Asks.Get(w.ask)) {
		others, _ = r.compare(w, nodesCompared, false)
	}
	if !atHome && len(others) == 0 {
		own, atHome = r.cheapest(home, w, true)
	}
	if len(others) > 0 && r.worth(w, others[0].cost) && (!atHome || others[0].cost < own.cost/moveCostFactor) {
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

// chooseForAsk reserves nodes for the containers that an ask wants in addition to its reservations,
// if its queue is entitled to them and no node has free room for them. It uses sets with AMs only
// if there is no other set.
func (r *round) chooseForAsk(w beneficiary) {
	for _, ams := range []bool{false, true} {
		k := r.s.State.Asks.Get(w.ask)
		more := k.Count - int64(k.Reservations) - r.making[w.ask]
		if more <= 0 || !r.mayGain(w.leaf, k.Size) || r.spent() {
			return
		}
		r.lookAtNodes()
		sets, free := r.compare(w, int(min(max(2*more, nodesCompared), mostSets)), ams)
		if free > 0 {
			r.unblock(w)
		}
		var soon uint64
		if len(sets) > 0 {
			if !r.worth(w, sets[0].cost) {
				return
			}
			soon = r.cheapestSoon(w)
		}
		for len(sets) > 0 {
			set := sets[0]
			sets = sets[1:]
			if !r.worth(w, set.cost) || free >= more || r.spent() || !r.mayGain(w.leaf, k.Size) {
				return
			}
			// The queues of the victims may have lost containers since the comparison.
			now, ok := r.cheapest(set.node, w, ams)
			if ok && soon < now.cost/patienceFactor {
				return
			}
			if now.compared = set.compared; !ok || !r.makeRoom(w, &now) {
				continue
			}
			more--
			if next, ok := r.nextOn(set.node, w, ams); ok {
				next.compared = set.compared
				at, _ := slices.BinarySearchFunc(sets, next, compareSets)
				sets = slices.Insert(sets, at, next)
			}
		}
		if free > 0 {
			return
		}
	}
}

// patienceFactor is a factor: an ask waits for a node that will soon be free to offer a set that loses
// less than 1/patienceFactor of the work.
const patienceFactor = 2

// cheapestSoon returns the least work that the end of one container for an ask loses on nodes that are
// reserved until warned containers end, or the largest number. A node has one reservation. So if most
// nodes are reserved, only old containers may be left on the others.
func (r *round) cheapestSoon(w beneficiary) uint64 {
	size, least, late := r.s.State.Asks.Get(w.ask).Size, uint64(math.MaxUint64), r.takesLate(w)
	for i := range r.nodes {
		o := &r.nodes[i]
		if !o.taken || !r.usable(o, w) {
			continue
		}
		res := r.s.State.Nodes.Get(o.node).Reservation
		if res == 0 || !r.awaited(r.s.State.Reservations.Get(res)) {
			continue
		}
		for _, v := range r.offers[o.first:o.end] {
			if v.cost < least && v.leaf != w.leaf && !v.am && r.covers(v.size, size) && r.mayEndFor(v, late) {
				least = v.cost
			}
		}
	}
	return least
}

// makeRoom makes room for one container of an ask with a set: it reserves the set's node or, if it
// has done so before in this round, adds the set to those for the reservation. The reservation keeps
// the node for the ask until the first of these containers starts.
func (r *round) makeRoom(w beneficiary, set *victimSet) bool {
	o, size, last := &r.nodes[set.node], r.s.State.Asks.Get(w.ask).Size, r.s.State.Meta.NextReservation
	switch {
	case o.extends == 0:
		if !r.reserveFor(w, set, nil) {
			return false
		}
		if r.s.State.Meta.NextReservation == last {
			return true // only a reservation held the room
		}
		o.extends = r.s.State.Meta.NextReservation
	case !r.within(w, size, set, 0):
		return false
	default:
		r.gain(w.leaf, size, size)
		r.sets--
		r.warn(w, set, o.extends, yarn.PreemptGuarantee)
	}
	for _, v := range set.victims {
		o.room = o.room.Add(v.size)
	}
	o.room = o.room.Sub(size)
	return true
}

// nextOn returns the cheapest set for a further container of an ask on a node that the round has
// reserved for it. ok is false if there is none.
func (r *round) nextOn(node int, w beneficiary, ams bool) (next victimSet, ok bool) {
	if r.nodes[node].extends == 0 || !r.forGuarantees() || r.s.State.Asks.Get(w.ask).IncreaseOf != 0 {
		return next, false
	}
	next, ok = r.cheapest(node, w, ams)
	return next, ok && len(next.victims) > 0
}

// unblock cancels a reservation of a queue above its guarantee if an ask may not use free room only
// because this reservation fills the queues above, and allocates the room. It takes the newest such
// reservation. Like every ask for which the round makes room, the ask waits for no locality.
func (r *round) unblock(w beneficiary) {
	size, free := r.s.State.Asks.Get(w.ask).Size, r.sched.FreeNode(r.s.At, w.ask)
	if free == 0 || r.withinMaxima(w.leaf, size) {
		return
	}
	if newest := r.newestBlocking(w); newest != nil {
		o := &r.nodes[r.nodeAt(newest.Node)]
		r.drop(o.reservation)
		o.reservation = 0
		r.gain(w.leaf, size, size)
		found := r.sched.FindPlace(w.app, w.ask, free)
		r.sched.AllocatePlace(&found)
		r.nodes[r.nodeAt(free)].room = r.s.RoomOn(free)
	}
}

// newestBlocking returns the newest reservation that may end for an ask and without which its queues
// allow another container of the ask, or nil.
func (r *round) newestBlocking(w beneficiary) (newest *state.Reservation) {
	for i := range r.nodes {
		o := &r.nodes[i]
		if o.reservation == 0 || o.taken || !r.mayDrop(o, w) && !r.givesWay(o.reservation, w) {
			continue
		}
		if res := r.s.State.Reservations.Get(o.reservation); (newest == nil || res.Number > newest.Number) &&
			r.wouldUnblock(o.reservation, w) {
			newest = res
		}
	}
	return newest
}

// wouldUnblock reports whether a reservation may end for an ask, and the queues of the ask could
// then use another container of the ask within their maxima.
func (r *round) wouldUnblock(slot state.ReservationSlot, w beneficiary) bool {
	res := r.s.State.Reservations.Get(slot)
	from := r.s.LeafOfReservation(res)
	if !r.mayLose([]victim{{leaf: from, loses: res.Size}}) && !r.givesWay(slot, w) {
		return false
	}
	r.ask(from, res.Size, 1)
	defer r.ask(from, res.Size, -1)
	return r.withinMaxima(w.leaf, r.s.State.Asks.Get(w.ask).Size)
}

// compare finds the cheapest set on each of the most promising nodes for an ask, the cheapest
// first. It also counts the containers for which nodes have free room.
func (r *round) compare(w beneficiary, most int, ams bool) (sets []victimSet, free int64) {
	r.scans--
	k := r.s.State.Asks.Get(w.ask)
	hopes := hopefulNodes{most: most}
	for i := range r.nodes {
		o := &r.nodes[i]
		if left, ok := r.leftBy(o); ok && r.usable(o, w) {
			free += max(r.s.Config.Calculator.AvailableContainers(left, k.Size), 0)
		}
		hasRoom := r.covers(o.room, k.Size)
		if o.taken || o.reservation != 0 && !r.mayDrop(o, w) && !(hasRoom && r.givesWay(o.reservation, w)) {
			continue
		}
		if o.reservation == 0 && hasRoom {
			if r.usable(o, w) {
				free += r.s.Config.Calculator.AvailableContainers(o.room, k.Size)
			}
			continue
		}
		if work, ok := r.atBest(o, k.Size); ok && hopes.wants(work) && r.usable(o, w) {
			hopes.add(work, i)
		}
	}
	compared := uint32(0)
	for _, h := range hopes.list() {
		if set, ok := r.cheapest(h.node, w, ams); ok {
			compared += set.compared
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, compareSets)
	for i := range sets {
		sets[i].compared = compared
	}
	return sets, free
}

// leftBy returns the room that a reservation leaves on a node on which preempted containers are
// about to end for it. ok is false for other nodes.
func (r *round) leftBy(o *offeringNode) (left yarn.Resource, ok bool) {
	number := r.s.State.Nodes.Get(o.node).Reservation
	if !o.taken || o.extends != 0 || number == 0 {
		return left, false
	}
	res := r.s.State.Reservations.Get(number)
	left = o.room.Sub(res.Size)
	return left, r.covers(left, yarn.Resource{})
}

// atBest returns a lower bound of the work that is lost to make room for a size on a node. ok is
// false if the node cannot have the room. It caches the last result, because most asks of a round
// have the same size.
func (r *round) atBest(o *offeringNode, size yarn.Resource) (work uint64, ok bool) {
	if o.asked != size {
		o.asked, o.possible = size, r.covers(o.room.Add(o.potential), size)
		o.work = r.cost(o.cheapest, size.Sub(o.room))
	}
	return o.work, o.possible
}

// hopefulNodes keeps the nodes with the lowest bounds of lost work, at most the number most.
type hopefulNodes struct {
	most  int
	nodes []hopefulNode
	worst uint64 // the largest bound among the kept nodes once there are enough of them
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

// usable reports whether an ask may reserve a node.
func (r *round) usable(o *offeringNode, w beneficiary) bool {
	st := r.s.State
	n, k, a := st.Nodes.Get(o.node), st.Asks.Get(w.ask), st.Apps.Get(w.app)
	return r.s.Config.Calculator.FitsIn(k.Size, n.Total) && r.sched.MayUse(w.ask, o.node) && !a.Blacklisted(n)
}
