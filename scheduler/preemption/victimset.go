package preemption

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/nodeindex"
	"rmd/yarn"
)

// victimSet is a set of containers on one node. Their end makes room for a container there.
type victimSet struct {
	node     int             // index in the round's nodes
	shape    nodeindex.Shape // of the node, in the order of nodes of the ask's queue
	victims  []victim
	cost     uint64
	compared uint32 // number of sets that were compared
}

// compareSets orders sets by the work lost, then by the number of containers, then by the
// order of nodes.
func compareSets(a, b victimSet) int {
	return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(len(a.victims), len(b.victims)),
		cmp.Compare(a.shape, b.shape), cmp.Compare(a.node, b.node))
}

// cheapest finds containers of a node that free what an ask lacks there, and that their queues may
// lose. It considers AMs only if ams is true. It compares a set that is built from the
// containers with the least work with each single container that frees enough.
func (r *round) cheapest(node int, w beneficiary, ams bool) (victimSet, bool) {
	o, k := &r.nodes[node], r.s.State.Asks.Get(w.ask)
	lacks := k.Size.Sub(o.room)
	offers, late := r.mayEnd[:0], r.takesLate(w)
	for _, v := range r.offers[o.first:o.end] {
		if (v.leaf != w.leaf || r.inside != nil) && (ams || !v.am) && r.mayEndFor(v, late) {
			offers = append(offers, v)
		}
	}
	r.mayEnd = offers
	slices.SortStableFunc(offers, func(a, b victim) int {
		switch {
		case a.am == b.am:
			return cmp.Compare(a.work, b.work)
		case b.am:
			return -1
		}
		return 1
	})
	best := victimSet{node: node, shape: r.shapeFor(k, o)}
	if r.covers(yarn.Resource{}, lacks) { // only a reservation holds the room
		return best, true
	}
	found := false
	if set := r.cover(offers, lacks); set != nil {
		best.victims, best.cost, best.compared, found = set, costOf(set), 1, true
	}
	for i, v := range offers {
		if !r.covers(v.size, lacks) {
			continue
		}
		best.compared++
		alone := victimSet{node: node, shape: best.shape, victims: offers[i : i+1], cost: v.cost, compared: best.compared}
		if !found || compareSets(alone, best) < 0 {
			alone.victims = []victim{v} // offers is scratch space
			best, found = alone, true
		}
	}
	return best, found
}

// mayEndFor reports whether a container may end for an ask, as far as its leaf and its state decide. late
// is the result of takesLate.
func (r *round) mayEndFor(v victim, late bool) bool {
	return !r.s.State.Preemptions.Has(v.container) && (late || !v.late) && r.mayLose([]victim{v})
}

// takesLate reports whether an ask may take from leaves that must give nothing: its leaf is overdue, and
// no node has room for it.
func (r *round) takesLate(w beneficiary) bool {
	return r.pieces && r.overdueAt(w) <= r.now && r.sched.FreeNode(r.s.At, w.ask) == 0
}

// shapeFor returns the shape of a node with its room, in the order of nodes of an ask's queue.
func (r *round) shapeFor(k *state.Ask, o *offeringNode) nodeindex.Shape {
	s := r.s
	l := &nodeindex.Layouts[scheduler.ShapeOrder(r.sched.NodeOrder(s.At, s.State.Apps.Get(k.App), r.now))]
	return l.ShapeOf(s.State.Nodes.Get(o.node).Total, o.room, s.KindsThatCount())
}

// cover takes containers in order until they free what is lacking. Then it removes containers that
// are not needed, the most expensive first. It returns nil if the containers do not free enough.
func (r *round) cover(offers []victim, lacks yarn.Resource) []victim {
	var set []victim
	var freed yarn.Resource
	for _, v := range offers {
		if r.covers(freed, lacks) {
			break
		}
		if !r.helps(v.size, lacks.Sub(freed)) {
			continue
		}
		if set = append(set, v); !r.mayLose(set) {
			set = set[:len(set)-1]
			continue
		}
		freed = freed.Add(v.size)
	}
	if !r.covers(freed, lacks) {
		return nil
	}
	byCost := slices.Clone(set)
	slices.SortStableFunc(byCost, func(a, b victim) int { return cmp.Compare(b.cost, a.cost) })
	for _, v := range byCost {
		if less := freed.Sub(v.size); r.covers(less, lacks) {
			freed = less
			set = slices.DeleteFunc(set, func(w victim) bool { return w.container == v.container })
		}
	}
	return set
}

func (e *entitlements) covers(freed, lacks yarn.Resource) bool {
	return e.s.Config.Calculator.FitsIn(lacks, freed)
}

// helps reports whether a size contains some of a lacking resource.
func (e *entitlements) helps(size, lacks yarn.Resource) bool {
	calc := e.s.Config.Calculator
	return calc.AnyAboveZero(yarn.ComponentMin(size, lacks))
}

// mayLose reports whether the leaves of the containers may lose all of them. A leaf keeps its
// guarantee in every resource of which it uses that much. In other resources it is below its
// guarantee in any case. With conservative-drf a leaf loses only resources of which it has more
// than its guarantee.
func (e *entitlements) mayLose(set []victim) bool {
	if e.inside != nil {
		return e.inside.mayLose(e.s.Views, set)
	}
	if e.ranked != nil {
		return e.ranked.mayLose(set)
	}
	for i, v := range set {
		if slices.ContainsFunc(set[:i], func(w victim) bool { return w.leaf == v.leaf }) {
			continue
		}
		var loses yarn.Resource
		for _, w := range set[i:] {
			if w.leaf == v.leaf {
				loses = loses.Add(w.loses)
			}
		}
		leaf := &e.leaves[v.leaf]
		if !e.leafMayLose(leaf, loses) || e.balances && !e.balance.mayLose(v.leaf, leaf.lost, loses, e.set.ConservativeDRF) {
			return false
		}
	}
	return true
}

func (e *entitlements) leafMayLose(leaf *leafShare, loses yarn.Resource) bool {
	tooMuch := false
	for i := range e.s.KindsThatCount() {
		over, left, lost := leaf.over[i], leaf.over[i]-leaf.lost[i], loses[i]
		tooMuch = tooMuch || (left > 0 && lost > 0)
		if lost > 0 && lost > left && (over >= 0 || e.set.ConservativeDRF) {
			return false
		}
	}
	return tooMuch
}

func (e *entitlements) cost(work uint64, size yarn.Resource) uint64 {
	hi, lo := bits.Mul64(work, e.shareOfPartition(size))
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}

// shareOfPartition returns the dominant share of a size in the partition, in units of 2^-32.
func (e *entitlements) shareOfPartition(size yarn.Resource) (share uint64) {
	for i := range e.s.KindsThatCount() {
		share = max(share, yarn.Share(size[i], e.s.At.Total[i]))
	}
	return share
}

func costOf(set []victim) (cost uint64) {
	for _, v := range set {
		cost = satAdd(cost, v.cost)
	}
	return cost
}

func satAdd(a, b uint64) uint64 {
	if sum, carry := bits.Add64(a, b, 0); carry == 0 {
		return sum
	}
	return math.MaxUint64
}
