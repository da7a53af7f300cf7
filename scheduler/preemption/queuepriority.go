package preemption

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/views"
)

// queueRanks says which leaves have priority over which. Both selectors use it to take containers
// for reservations.
//
// Source: Hadoop 3.4.2, QueuePriorityContainerCandidateSelector.
type queueRanks struct {
	queues []entitlement.Queue
	ranks  [][]int32 // by queue: the priorities of the queues from root down to it
	least  []int32   // by parent: the lowest priority of its children with leaves
}

func newQueueRanks(queues []entitlement.Queue) *queueRanks {
	k := &queueRanks{queues, make([][]int32, len(queues)), make([]int32, len(queues))}
	leaves := make([]bool, len(queues)) // by queue: whether it has leaves
	for i := range queues {
		if k.least[i] = math.MaxInt32; queues[i].Parent >= 0 {
			k.ranks[i] = append(slices.Clone(k.ranks[queues[i].Parent]), queues[i].Priority)
		}
	}
	for i := len(queues) - 1; i > 0; i-- { // children come after their parents
		if q := &queues[i]; q.Leaf || leaves[i] {
			leaves[q.Parent], k.least[q.Parent] = true, min(k.least[q.Parent], q.Priority)
		}
	}
	return k
}

// compare orders two reservations or containers by the priorities of their leaves from root
// downward, and then by age. It is a total order. The relation "above" is not one, because it can
// have cycles.
func (k *queueRanks) compare(a, b int32, madeA, madeB int64) int {
	higher := func(x, y int32) int { return cmp.Compare(y, x) }
	return cmp.Or(slices.CompareFunc(k.ranks[a], k.ranks[b], higher), cmp.Compare(madeA, madeB))
}

// above reports whether leaf a has priority over leaf b. It compares the two queues directly below
// the last common ancestor of a and b.
func (k *queueRanks) above(a, b int32) bool {
	queues := k.queues
	x, y := len(k.ranks[a]), len(k.ranks[b]) // depths
	for ; x > y; x-- {
		a = queues[a].Parent
	}
	for ; y > x; y-- {
		b = queues[b].Parent
	}
	if a == b {
		return false
	}
	for queues[a].Parent != queues[b].Parent {
		a, b = queues[a].Parent, queues[b].Parent
	}
	return queues[a].Priority > queues[b].Priority
}

// aboveAny reports whether a leaf has priority over some other leaf.
func (k *queueRanks) aboveAny(leaf int32) bool {
	for i := leaf; k.queues[i].Parent >= 0; i = k.queues[i].Parent {
		if k.queues[i].Priority > k.least[k.queues[i].Parent] {
			return true
		}
	}
	return false
}

// belowAny reports for each queue whether at least one of the given leaves has priority over it.
// The result is parallel to the queues.
func (k *queueRanks) belowAny(leaves iter.Seq[int32]) []bool {
	// by parent: the highest priority among its children that contain one of these leaves
	most := make([]int32, len(k.queues))
	for i := range most {
		most[i] = math.MinInt32
	}
	for leaf := range leaves {
		for i := leaf; k.queues[i].Parent >= 0; i = k.queues[i].Parent {
			up := k.queues[i].Parent
			most[up] = max(most[up], k.queues[i].Priority)
		}
	}
	below := make([]bool, len(k.queues))
	for i := range below {
		if up := k.queues[i].Parent; up >= 0 {
			below[i] = below[up] || most[up] > k.queues[i].Priority
		}
	}
	return below
}

// rankedReservations returns the numbers of the reservations of leaves that have priority over
// another leaf, in the order of compare.
func rankedReservations(s *views.Views, k *queueRanks) (numbers []uint64) {
	var all []*state.Reservation
	for _, node := range reservedNodes(s) {
		res := s.State.Reservations.Get(s.State.Nodes.Get(node).Reservation)
		if k.aboveAny(s.LeafOfReservation(res)) {
			all = append(all, res)
		}
	}
	slices.SortFunc(all, func(a, b *state.Reservation) int {
		return cmp.Or(k.compare(s.LeafOfReservation(a), s.LeafOfReservation(b), a.MadeMillis, b.MadeMillis),
			cmp.Compare(a.Number, b.Number))
	})
	for _, res := range all {
		numbers = append(numbers, res.Number)
	}
	return numbers
}

// reservedNodes returns the nodes that take containers with a reservation whose ask still wants a container, in
// slot order. It omits reservations of gangs.
func reservedNodes(s *views.Views) (nodes []state.NodeSlot) {
	s.State.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if n.Reservation == 0 || !n.TakesContainers() {
			return true
		}
		res := s.State.Reservations.Get(n.Reservation)
		if ask, ok := askOfReservation(s.State, res); ok && res.Members == 0 && s.State.Asks.Get(ask).Count > 0 {
			nodes = append(nodes, slot)
		}
		return true
	})
	return nodes
}

// askOfReservation returns the ask of a reservation. ok is false if the ask does not exist any
// more.
func askOfReservation(st *state.State, res *state.Reservation) (ask state.AskSlot, ok bool) {
	for slot, k := range st.Asks.Of(st.Apps.Get(res.App)) {
		if k.Key == res.Key && k.IncreaseOf == res.IncreaseOf {
			return slot, true
		}
	}
	return 0, false
}

// movable reports whether another node of the label could serve the ask of a reservation.
func movable(st *state.State, res *state.Reservation, k *state.Ask) bool {
	return res.IncreaseOf == 0 && k.Relax && k.Label == st.Nodes.Get(res.Node).Label
}
