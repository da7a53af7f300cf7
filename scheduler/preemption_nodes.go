package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/preempt"
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
	node        uint32
	first, end  int           // its range in preemptionRound.offers
	room        yarn.Resource // free, or free soon
	potential   yarn.Resource // total size of its offers
	cheapest    uint64        // least work of an offer
	reservation uint32        // a reservation that the round may cancel
	taken       bool          // a reservation holds the node, and the round may not cancel it

	asked    yarn.Resource // argument of the last call of atBest; its results follow
	work     uint64
	possible bool
}

// victim is a container that may end.
type victim struct {
	container uint32
	leaf      int32
	size      yarn.Resource // what its end frees on its node
	loses     yarn.Resource // what its end takes from its leaf; more than size for an AM
	work      uint64        // lost running time in milliseconds, weighted
	cost      uint64        // work times the container's share of the partition
	am        bool
}

// lookAtNodes collects the nodes and their offers. It runs once in a round, when the first ask
// needs it.
func (r *preemptionRound) lookAtNodes() {
	if r.nodes != nil {
		return
	}
	nodes := &r.s.st.Nodes
	r.nodes = make([]offeringNode, 0, nodes.Len())
	r.offers = make([]victim, 0, min(r.s.st.Containers.Len(), offersOfAll+offersOfNode))
	end := nodes.Cap()
	first := uint32(0)
	if r.s.st.Containers.Len() > offersOfAll {
		first = uint32(r.beginAt(int(end)))
	}
	for i := range end {
		slot := (first + i) % end
		if n := nodes.Get(slot); nodes.Has(slot) && n.Label == r.p.label && n.Serving() {
			r.lookAt(slot, n)
		}
		if len(r.offers) >= offersOfAll {
			return
		}
	}
}

// beginAt returns the index at which a round begins if it cannot examine all n items. The indexes
// of successive rounds are far apart.
func (r *preemptionRound) beginAt(n int) int {
	const spread = 2654435761 // Knuth's multiplicative hash
	return int(uint64(r.s.now/max(r.set.IntervalMillis, 1)) * spread % uint64(n))
}

// nodeAt returns the index of a node in the round's nodes, to which it adds the node if needed.
func (r *preemptionRound) nodeAt(node uint32) int {
	i := slices.IndexFunc(r.nodes, func(o offeringNode) bool { return o.node == node })
	if i >= 0 {
		return i
	}
	i = len(r.nodes)
	if r.inside != nil {
		r.addNode(node, len(r.offers))
	} else {
		r.lookAt(node, r.s.st.Nodes.Get(node))
	}
	return i
}

func (r *preemptionRound) lookAt(slot uint32, n *state.Node) {
	st := r.s.st
	o := offeringNode{node: slot, first: len(r.offers), room: n.Unallocated(), cheapest: 1<<64 - 1}
	if n.Reservation != 0 {
		o.reservation, o.taken = n.Reservation, r.ranked != nil || !r.droppable(n.Reservation)
	}
	for c, k := range st.ContainersOn(n) {
		if !k.State.Live() || st.Leases.Has(c) {
			o.room = o.room.Add(k.Size)
			continue
		}
		leaf := r.s.apps[k.App].leaf
		if len(r.offers)-o.first >= offersOfNode || st.Preemptions.Has(c) || !r.gives(leaf) || k.AM && (r.ranked != nil || !r.tooManyMasters(leaf)) {
			continue
		}
		v := r.victimOf(c)
		r.offers = append(r.offers, v)
		o.potential = o.potential.Add(v.size)
		if !v.am {
			o.cheapest = min(o.cheapest, v.work)
		}
	}
	o.end = len(r.offers)
	r.nodes = append(r.nodes, o)
}

// tooManyMasters reports whether AMs of a leaf may end: only while the leaf's AMs use more than the
// AM share of its guarantee.
//
// Source: Hadoop 3.4.2, FifoCandidatesSelector.preemptAMContainers, which counts AMs in the same
// way.
func (r *preemptionRound) tooManyMasters(leaf int32) bool {
	most := preempt.MultiplyFloat(r.p.tree.Capacities[leaf].EffMin, r.s.cfg.Queues[leaf].MaxAMPercent)
	return r.s.cfg.Calculator.Compare(r.p.total, r.s.amUsed(leaf), most) > 0
}

// gives reports whether the round may take something from a leaf.
func (r *preemptionRound) gives(leaf int32) bool {
	if r.ranked != nil {
		return r.ranked.gives[leaf]
	}
	if r.balances {
		return r.s.cfg.Calculator.AnyAboveZero(r.balance.take(leaf))
	}
	return r.s.cfg.Calculator.AnyAboveZero(r.leaves[leaf].take)
}

// droppable reports whether a reservation counts toward what its leaf uses above its guarantee, and
// may be cancelled. A reservation with leases may not.
func (r *preemptionRound) droppable(slot uint32) bool {
	res := r.s.st.Reservations.Get(slot)
	leaf := r.s.LeafOf(r.s.st.Apps.Get(res.App))
	for range r.s.st.LeasedFrom(res) {
		return false // without the reservation, the borrowers would be ordinary containers
	}
	return res.Members == 0 && !r.awaited(res) && r.mayLose([]victim{{leaf: leaf, loses: res.Size}})
}

// mayDrop reports whether a droppable reservation may be cancelled for an ask: the reservation's
// leaf must give something, or the leaf of the ask is below its guarantee. The second case needs no
// entitlement, because no work is lost.
func (r *preemptionRound) mayDrop(slot uint32, w beneficiary) bool {
	leaf := r.s.LeafOf(r.s.st.Apps.Get(r.s.st.Reservations.Get(slot).App))
	return leaf != w.leaf && (r.gives(leaf) || r.covers(r.leaves[w.leaf].under, r.s.st.Asks.Get(w.ask).Size))
}

// awaited reports whether containers were warned for a reservation, or have just ended for it.
func (r *preemptionRound) awaited(res *state.Reservation) bool {
	for range r.s.st.PreemptedFor(res) {
		return true
	}
	return r.s.cfg.Calculator.FitsIn(res.Size, r.s.roomOn(res.Node))
}

// victimOf returns a container with the cost of its end. The end of an AM also ends the
// reservations of its application, and the application's other containers unless they are kept.
func (r *preemptionRound) victimOf(slot uint32) victim {
	st := r.s.st
	k := st.Containers.Get(slot)
	a := st.Apps.Get(k.App)
	v := victim{container: slot, leaf: r.s.apps[k.App].leaf, size: k.Size, loses: k.Size, am: k.AM, work: r.workOf(k, a)}
	v.cost = r.cost(v.work, k.Size)
	if !k.AM {
		return v
	}
	v.loses, v.cost = r.s.reservedIn(a), 0
	for _, other := range st.ContainersOf(a) {
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
func (r *preemptionRound) workOf(k *state.Container, a *state.App) uint64 {
	lost := uint64(a.Attempt) - 1
	p := r.s.st.PreemptedOf(k.App)
	lost += p.Containers + p.AMs
	return uint64(max(r.s.now-k.AllocatedMillis, 1)) * (1 + min(lost, mostRestarts))
}
