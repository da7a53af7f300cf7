package preemption

import (
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// Bounds on the containers that one round examines: the newest of each node, and in total. If a
// cluster has more, each round begins at another node.
const (
	offersOfNode = 64
	offersOfAll  = 1 << 14
)

// offeringNode is a node and its containers that may end.
type offeringNode struct {
	node        state.NodeSlot
	first, end  int                   // its range in round.offers
	room        yarn.Resource         // free, or free soon
	potential   yarn.Resource         // total size of its offers
	cheapest    uint64                // least work of an offer
	reservation state.ReservationSlot // a reservation that the round may cancel
	keeps       bool                  // the reservation's leaf has its guarantee without it
	taken       bool                  // a reservation holds the node, and the round may not cancel it

	// extends is a reservation that the round has made for an ask there. Further containers may end
	// for the same ask, and room is what is left then.
	extends uint64

	asked    yarn.Resource // argument of the last call of atBest; its results follow
	work     uint64
	possible bool
}

// victim is a container that may end.
type victim struct {
	container state.ContainerSlot
	leaf      int32
	size      yarn.Resource // what its end frees on its node
	loses     yarn.Resource // what its end takes from its leaf; more than size for an AM
	work      uint64        // lost running time in milliseconds, weighted
	cost      uint64        // work times the container's share of the partition
	am        bool
	late      bool // its leaf must give nothing, except to a leaf that is overdue
}

// lookAtNodes collects the nodes and their offers. It runs once in a round, when the first ask
// needs it.
func (r *round) lookAtNodes() {
	if r.nodes != nil {
		return
	}
	nodes := &r.s.State.Nodes
	r.nodes = slices.Grow(r.rounds.nodes, nodes.Len()+1) // not nil even without nodes
	r.offers = slices.Grow(r.rounds.offers, min(r.s.State.Containers.Len(), offersOfAll+offersOfNode))
	r.rounds.nodes, r.rounds.offers = nil, nil
	end := nodes.Cap()
	first := state.NodeSlot(0)
	if r.s.State.Containers.Len() > offersOfAll {
		first = state.NodeSlot(r.beginAt(int(end)))
	}
	for i := range end {
		slot := (first + i) % end
		if n := nodes.Get(slot); nodes.Has(slot) && n.Label == r.s.At.Label && n.TakesContainers() {
			r.lookAt(slot, n)
		}
		if len(r.offers) >= offersOfAll {
			return
		}
	}
}

// forgetNodes discards the nodes, so that the next lookAtNodes collects them again. It keeps their
// memory for this or a later round: megabytes in a large cluster.
func (r *round) forgetNodes() {
	if r.nodes != nil {
		r.rounds.nodes, r.rounds.offers = r.nodes[:0], r.offers[:0]
	}
	r.nodes, r.offers = nil, nil
}

// beginAt returns the index at which a round begins if it cannot examine all n items. The indexes
// of successive rounds are far apart.
func (r *round) beginAt(n int) int {
	const spread = 2654435761 // Knuth's multiplicative hash
	return int(uint64(r.now/max(r.set.IntervalMillis, 1)) * spread % uint64(n))
}

// nodeAt returns the index of a node in the round's nodes, to which it adds the node if needed.
func (r *round) nodeAt(node state.NodeSlot) int {
	i := slices.IndexFunc(r.nodes, func(o offeringNode) bool { return o.node == node })
	if i >= 0 {
		return i
	}
	i = len(r.nodes)
	if r.inside != nil {
		r.addNode(node, len(r.offers))
	} else {
		r.lookAt(node, r.s.State.Nodes.Get(node))
	}
	return i
}

func (r *round) lookAt(slot state.NodeSlot, n *state.Node) {
	st := r.s.State
	o := offeringNode{node: slot, first: len(r.offers), room: n.Unallocated(), cheapest: 1<<64 - 1}
	if n.Reservation != 0 {
		may, keeps := r.droppable(n.Reservation)
		o.reservation, o.keeps, o.taken = n.Reservation, keeps, !may || r.ranked != nil
	}
	for c, k := range st.Containers.On(n) {
		if !k.State.Live() || st.Leases.Has(c) {
			o.room = o.room.Add(k.Size)
			continue
		}
		leaf := r.s.Apps[k.App].Leaf
		gives := r.gives(leaf)
		if len(r.offers)-o.first >= offersOfNode || !r.mayChoose(c, k) || !gives && !r.givesLate(leaf) ||
			k.AM && (r.ranked != nil || !r.tooManyAMs(leaf)) {
			continue
		}
		v := r.victimOf(c)
		v.late = !gives
		r.offers = append(r.offers, v)
		o.potential = o.potential.Add(v.size)
		if !v.am {
			o.cheapest = min(o.cheapest, v.work)
		}
	}
	o.end = len(r.offers)
	r.nodes = append(r.nodes, o)
}

// mayChoose reports whether a round may choose a container, if its queue and application give. A container
// with a lease ends when the reservation needs its room.
func (r *round) mayChoose(slot state.ContainerSlot, c *state.Container) bool {
	return c.State.Live() && !r.s.State.Leases.Has(slot) && !r.s.State.Preemptions.Has(slot)
}

// tooManyAMs reports whether AMs of a leaf may end: only while the leaf's AMs use more than the
// AM share of its guarantee.
//
// Source: Hadoop 3.4.2, FifoCandidatesSelector.preemptAMContainers, which counts AMs in the same
// way.
func (e *entitlements) tooManyAMs(leaf int32) bool {
	most := entitlement.MultiplyFloat(e.s.At.Tree.Capacities[leaf].EffMin, e.s.Config.Queues[leaf].MaxAMPercent)
	return e.s.Config.Calculator.Compare(e.s.At.Total, e.s.AMUsed(leaf), most) > 0
}

// gives reports whether the round may take something from a leaf.
func (e *entitlements) gives(leaf int32) bool {
	if e.ranked != nil {
		return e.ranked.gives[leaf]
	}
	if e.balances {
		return e.s.Config.Calculator.AnyAboveZero(e.balance.take(leaf))
	}
	return e.s.Config.Calculator.AnyAboveZero(e.leaves[leaf].take)
}

// givesLate reports whether a leaf may give something to a leaf that is overdue, although no leaf must
// give anything.
func (e *entitlements) givesLate(leaf int32) bool {
	b := &e.leaves[leaf]
	return e.pieces && b.gives && e.forGuarantees() && e.s.Config.Calculator.AnyAboveZero(b.over.Sub(b.lost))
}

// droppable reports whether a round may cancel a reservation for some ask. keeps means that the leaf
// of the reservation has its guarantee without it. A reservation with leases may not be cancelled.
func (e *entitlements) droppable(slot state.ReservationSlot) (may, keeps bool) {
	res := e.s.State.Reservations.Get(slot)
	if e.s.Borrowed(res) {
		return false, false // without the reservation, the borrowers would be ordinary containers
	}
	if res.Members != 0 || e.awaited(res) {
		return false, false
	}
	leaf := e.s.LeafOfReservation(res)
	keeps = e.mayLose([]victim{{leaf: leaf, loses: res.Size}})
	return keeps || e.reservesBeyond(leaf), keeps
}

// mayDrop reports whether the reservation of a node may be cancelled for an ask, perhaps together
// with the end of containers. The leaf of the reservation keeps its guarantee, and either this leaf
// must give something, or the ask is within the guarantee of its own leaf. The second case needs no
// entitlement, because no work is lost.
func (e *entitlements) mayDrop(o *offeringNode, w beneficiary) bool {
	leaf := e.s.LeafOfReservation(e.s.State.Reservations.Get(o.reservation))
	return o.keeps && leaf != w.leaf && (e.gives(leaf) || e.withinGuarantee(w))
}

// givesWay reports whether a reservation may be cancelled for an ask while no container ends, even
// if the leaf of the reservation is below its guarantee then: an ask within the guarantee of its
// leaf comes before a reservation that exceeds the guarantee of another leaf.
func (e *entitlements) givesWay(slot state.ReservationSlot, w beneficiary) bool {
	leaf := e.s.LeafOfReservation(e.s.State.Reservations.Get(slot))
	return leaf != w.leaf && e.withinGuarantee(w) && e.reservesBeyond(leaf)
}

// withinGuarantee reports whether the leaf of an ask has no more than its guarantee with another
// container of the ask.
func (e *entitlements) withinGuarantee(w beneficiary) bool {
	return e.covers(e.leaves[w.leaf].under, e.s.State.Asks.Get(w.ask).Size)
}

// forGuarantees reports whether the round takes for leaves below their guarantee, and not by priority,
// for balance or inside a leaf.
func (e *entitlements) forGuarantees() bool {
	return e.inside == nil && e.ranked == nil && !e.balances
}

// reservesBeyond reports whether a leaf uses more than its guarantee with its reservations, and none
// of its containers ends. After the loss of a container, a leaf must have its guarantee, so then it
// keeps its reservations.
func (e *entitlements) reservesBeyond(leaf int32) bool {
	if !e.forGuarantees() {
		return false
	}
	b := &e.leaves[leaf]
	return !b.ends && e.s.Config.Calculator.AnyAboveZero(b.over.Sub(b.lost))
}

// awaited reports whether containers were warned for a reservation, or have just ended for it.
func (e *entitlements) awaited(res *state.Reservation) bool {
	for range e.s.State.PreemptedFor(res) {
		return true
	}
	return e.s.Config.Calculator.FitsIn(res.Size, e.s.RoomOn(res.Node))
}

// victimOf returns a container with the cost of its end. The end of an AM also ends the
// reservations of its application, and the application's other containers unless they are kept.
func (r *round) victimOf(slot state.ContainerSlot) victim {
	st := r.s.State
	k := st.Containers.Get(slot)
	a := st.Apps.Get(k.App)
	v := victim{container: slot, leaf: r.s.Apps[k.App].Leaf, size: k.Size, loses: k.Size, am: k.AM, work: r.workOf(k, a)}
	v.cost = r.cost(v.work, k.Size)
	if !k.AM {
		return v
	}
	v.loses, v.cost = r.s.ReservedIn(a), 0
	for _, other := range st.Containers.Of(a) {
		if other.State.Live() && !(a.KeepContainers && other.MayBeKept()) {
			v.loses = v.loses.Add(other.Size)
			v.cost = satAdd(v.cost, r.cost(r.workOf(other, a), other.Size))
		}
	}
	return v
}

// mostRestarts limits how much earlier losses of an application raise the cost of its containers.
const mostRestarts = 7

// workOf returns the running time of a container, multiplied by one plus the number of times that
// its application has lost work before.
func (r *round) workOf(k *state.Container, a *state.App) uint64 {
	lost := uint64(a.Attempt) - 1
	p := r.s.State.Preempted.Of(k.App)
	lost += p.Containers + p.AMs
	return uint64(max(r.now-k.AllocatedMillis, 1)) * (1 + min(lost, mostRestarts))
}
