package scheduler

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// yarnPriority makes room for reservations of queues below their guarantee on the nodes where they
// are, at the cost of queues of a lower priority, whatever those use.
//
// Source: Hadoop 3.4.2, QueuePriorityContainerCandidateSelector.
type yarnPriority struct {
	*yarnRound
	ranks   [][]int32         // by queue: the priorities of the queues from root down to it
	touched map[uint32]bool   // nodes that were decided about
	gained  [][]yarn.Resource // by partition and leaf: reservations that room was made for
}

func (r *yarnRound) chooseByQueuePriority() {
	p := &yarnPriority{yarnRound: r, ranks: r.ranks(), touched: map[uint32]bool{}}
	for _, partition := range r.partitions {
		p.gained = append(p.gained, make([]yarn.Resource, len(partition.Queues)))
	}
	for _, number := range p.waiting() {
		res := r.s.st.Reservations.Get(r.s.st.Reservation(number))
		leaf := p.leafOfReservation(res)
		if r.s.now-res.MadeMillis < r.set.QueuePriority.ReservedDelayMillis || p.satisfied(leaf, r.partitionOf(res.Node)) {
			continue
		}
		if victims, ok := p.enough(res, leaf, res.Node); ok {
			p.take(res, leaf, victims)
		} else if r.set.QueuePriority.MoveReservation {
			p.move(res, leaf)
		}
	}
}

func (r *yarnRound) ranks() [][]int32 {
	queues := r.partitions[0].Queues
	ranks := make([][]int32, len(queues))
	for i := range queues {
		if up := queues[i].Parent; up >= 0 {
			ranks[i] = append(slices.Clone(ranks[up]), queues[i].Priority)
		}
	}
	return ranks
}

// waiting are the reservations of leaves that have priority over some other leaf: those of leaves with
// priority over the others' first, then the oldest.
func (p *yarnPriority) waiting() (numbers []uint64) {
	type reservation struct {
		number uint64
		made   int64
		leaf   int32
	}
	var all []reservation
	for _, node := range p.reservedNodes() {
		res := p.s.st.Reservations.Get(p.s.st.Nodes.Get(node).Reservation)
		if leaf := p.leafOfReservation(res); p.aboveAny(leaf) {
			all = append(all, reservation{res.Number, res.MadeMillis, leaf})
		}
	}
	slices.SortFunc(all, func(a, b reservation) int { return cmp.Compare(a.number, b.number) })
	slices.SortStableFunc(all, func(a, b reservation) int { return p.compare(a.leaf, b.leaf, a.made, b.made) })
	for _, r := range all {
		numbers = append(numbers, r.number)
	}
	return numbers
}

func (p *yarnPriority) leafOfReservation(res *state.Reservation) int32 {
	return p.s.LeafOf(p.s.st.Apps.Get(res.App))
}

// compare puts what is of a leaf with priority over the other first, and then the older. Priorities
// count from root down: that is an order, and to have priority over another leaf alone is not.
func (p *yarnPriority) compare(a, b int32, madeA, madeB int64) int {
	higher := func(x, y int32) int { return cmp.Compare(y, x) }
	return cmp.Or(slices.CompareFunc(p.ranks[a], p.ranks[b], higher), cmp.Compare(madeA, madeB))
}

// above says whether leaf a has priority over leaf b: the priorities of the queues count that are their
// ancestors, or themselves, right below the last queue above both.
func (p *yarnPriority) above(a, b int32) bool {
	queues := p.partitions[0].Queues
	depth := func(i int32) (n int) {
		for ; queues[i].Parent >= 0; i = queues[i].Parent {
			n++
		}
		return n
	}
	x, y := depth(a), depth(b)
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

func (p *yarnPriority) aboveAny(leaf int32) bool {
	for i := range p.partitions[0].Queues {
		if p.partitions[0].Queues[i].Leaf && p.above(leaf, int32(i)) {
			return true
		}
	}
	return false
}

// satisfied says whether a leaf has its guarantee of a partition, or will have it.
func (p *yarnPriority) satisfied(leaf int32, partition int) bool {
	q := &p.partitions[partition].Queues[leaf]
	return p.calc.Compare(p.cluster, q.Used.Sub(q.Reserved).Add(p.gained[partition][leaf]), q.Guaranteed) >= 0
}

// enough finds containers of a node whose end makes room for a reservation there.
func (p *yarnPriority) enough(res *state.Reservation, leaf int32, node uint32) (victims []uint32, ok bool) {
	if p.touched[node] {
		return nil, false
	}
	running := p.liveOn(node, func(a, b uint32) int {
		x, y := p.s.st.Containers.Get(a), p.s.st.Containers.Get(b)
		return cmp.Or(p.compare(p.leafOf(a), p.leafOf(b), x.AllocatedMillis, y.AllocatedMillis), p.newer(b, a))
	})
	lacks := res.Size.Sub(p.s.roomOn(node))
	for _, slot := range running {
		if p.isChosen[slot] {
			lacks = lacks.Sub(p.s.st.Containers.Get(slot).Size)
		}
	}
	budget := p.budget
	for _, slot := range running {
		if p.calc.FitsIn(lacks, yarn.Resource{}) {
			break
		}
		c := p.s.st.Containers.Get(slot)
		if p.isChosen[slot] || c.AM || !p.above(leaf, p.leafOf(slot)) || p.calc.Compare(p.cluster, budget, c.Size) < 0 {
			continue
		}
		budget, lacks = budget.Sub(c.Size), lacks.Sub(c.Size)
		victims = append(victims, slot)
	}
	return victims, p.calc.FitsIn(lacks, yarn.Resource{})
}

func (p *yarnPriority) take(res *state.Reservation, leaf int32, victims []uint32) {
	p.touched[res.Node] = true
	of := &p.gained[p.partitionOf(res.Node)][leaf]
	*of = of.Add(res.Size)
	for _, slot := range victims {
		p.choose(yarnChoice{container: slot, cause: yarn.PreemptQueuePriority, queue: p.s.cfg.Queues[leaf].Path, reservation: res.Number})
	}
}

// move reserves another node instead, where enough may end. A later round looks at it there.
func (p *yarnPriority) move(res *state.Reservation, leaf int32) {
	ask, ok := p.movableAsk(res)
	if !ok {
		return
	}
	label := p.s.st.Nodes.Get(res.Node).Label
	p.s.at = p.s.partitions[label]
	defer func() { p.s.at = p.s.partitions[0] }()
	for node := range p.s.st.Nodes.Cap() {
		if !p.s.st.Nodes.Has(node) {
			continue
		}
		n := p.s.st.Nodes.Get(node)
		if n.Label != label || n.Reservation != 0 || !n.Serving() {
			continue
		}
		if _, ok := p.enough(res, leaf, node); ok && p.moveTo(res, ask, node) {
			p.touched[node] = true
			return
		}
	}
}

// movableAsk is the ask of a reservation that other nodes of the label may serve.
func (p *yarnPriority) movableAsk(res *state.Reservation) (ask uint32, ok bool) {
	if res.IncreaseOf != 0 {
		return 0, false
	}
	for slot, k := range p.s.st.AsksOf(p.s.st.Apps.Get(res.App)) {
		if k.Key == res.Key && k.IncreaseOf == 0 {
			return slot, k.Relax && k.Label == p.s.st.Nodes.Get(res.Node).Label
		}
	}
	return 0, false
}

func (p *yarnPriority) moveTo(res *state.Reservation, ask, node uint32) bool {
	a, k := p.s.st.Apps.Get(res.App), p.s.st.Asks.Get(ask)
	d := p.s.place(res.App, ask, node, &Limits{}, true)
	if d.state != stateReserved || !p.calc.FitsIn(k.Size, p.s.st.Nodes.Get(node).Total) || p.s.st.ReservationBanned(p.s.st.Nodes.Get(node), k.App, k.Key) || a.Blacklisted(p.s.st.Nodes.Get(node)) {
		return false
	}
	p.s.cancel(res.Number, yarn.CancelExchanged)
	p.s.reserve(&d, k.AM)
	return true
}
