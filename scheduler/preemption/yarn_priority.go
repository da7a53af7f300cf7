package preemption

import (
	"cmp"

	"rmd/fsm/state"
	"rmd/yarn"
)

// yarnPriority makes room for reservations of queues below their guarantee, on the reserved nodes.
// It takes containers of queues of a lower priority, however much those use.
//
// Source: Hadoop 3.4.2, QueuePriorityContainerCandidateSelector.
type yarnPriority struct {
	*yarnRound
	*queueRanks
	touched map[state.NodeSlot]bool // nodes for which something is already decided
	gained  [][]yarn.Resource       // by partition and leaf: reservations for which the round makes room
}

func (r *yarnRound) chooseByQueuePriority() {
	p := &yarnPriority{yarnRound: r, queueRanks: newQueueRanks(r.partitions[0].Queues), touched: map[state.NodeSlot]bool{}}
	for _, partition := range r.partitions {
		p.gained = append(p.gained, make([]yarn.Resource, len(partition.Queues)))
	}
	for _, number := range rankedReservations(r.s.Views, p.queueRanks) {
		res := r.s.State.Reservations.Get(r.s.State.Reservations.Find(number))
		leaf, partition := r.s.LeafOfReservation(res), r.partitionOf(res.Node)
		if r.s.Now()-res.MadeMillis < r.set.QueuePriority.ReservedDelayMillis ||
			r.partitions[partition].Satisfied(leaf, p.gained[partition][leaf]) {
			continue
		}
		if victims, ok := p.enough(res, leaf, res.Node); ok {
			p.take(res, leaf, victims)
		} else if r.set.QueuePriority.MoveReservation {
			p.move(res, leaf)
		}
	}
}

// enough returns containers of a node whose end makes room for a reservation there. ok is false if
// there are not enough.
func (p *yarnPriority) enough(res *state.Reservation, leaf int32,
	node state.NodeSlot) (victims []state.ContainerSlot, ok bool) {
	if p.touched[node] {
		return nil, false
	}
	running := p.liveOn(node, func(a, b state.ContainerSlot) int {
		x, y := p.s.State.Containers.Get(a), p.s.State.Containers.Get(b)
		return cmp.Or(p.compare(p.leafOf(a), p.leafOf(b), x.AllocatedMillis, y.AllocatedMillis), p.newer(b, a))
	})
	lacks := res.Size.Sub(p.s.RoomOn(node))
	for _, slot := range running {
		if p.isChosen[slot] {
			lacks = lacks.Sub(p.s.State.Containers.Get(slot).Size)
		}
	}
	budget := p.budget
	for _, slot := range running {
		if p.calc.FitsIn(lacks, yarn.Resource{}) {
			break
		}
		c := p.s.State.Containers.Get(slot)
		if p.isChosen[slot] || c.AM || !p.above(leaf, p.leafOf(slot)) || p.calc.Compare(p.cluster, budget, c.Size) < 0 {
			continue
		}
		budget, lacks = budget.Sub(c.Size), lacks.Sub(c.Size)
		victims = append(victims, slot)
	}
	return victims, p.calc.FitsIn(lacks, yarn.Resource{})
}

func (p *yarnPriority) take(res *state.Reservation, leaf int32, victims []state.ContainerSlot) {
	p.touched[res.Node] = true
	of := &p.gained[p.partitionOf(res.Node)][leaf]
	*of = of.Add(res.Size)
	for _, slot := range victims {
		p.choose(yarnChoice{container: slot, cause: yarn.PreemptQueuePriority, queue: p.s.Config.Queues[leaf].Path,
			reservation: res.Number})
	}
}

// move reserves another node instead, if enough containers may end there. A later round chooses
// them.
func (p *yarnPriority) move(res *state.Reservation, leaf int32) {
	ask, ok := askOfReservation(p.s.State, res)
	if !ok || !movable(p.s.State, res, p.s.State.Asks.Get(ask)) {
		return
	}
	label := p.s.State.Nodes.Get(res.Node).Label
	for node := range p.s.State.Nodes.Cap() {
		if !p.s.State.Nodes.Has(node) {
			continue
		}
		n := p.s.State.Nodes.Get(node)
		if n.Label != label || n.Reservation != 0 || !n.TakesContainers() {
			continue
		}
		if _, ok := p.enough(res, leaf, node); ok && p.moveTo(res, ask, node) {
			p.touched[node] = true
			return
		}
	}
}

func (p *yarnPriority) moveTo(res *state.Reservation, ask state.AskSlot, node state.NodeSlot) bool {
	a, k := p.s.State.Apps.Get(res.App), p.s.State.Asks.Get(ask)
	found := p.s.FindPlace(res.App, ask, node)
	if found.None() || found.Allocates() || !p.calc.FitsIn(k.Size, p.s.State.Nodes.Get(node).Total) ||
		p.s.State.ReservationBans.Forbids(p.s.State.Nodes.Get(node), k.App, k.Key) ||
		a.Blacklisted(p.s.State.Nodes.Get(node)) {
		return false
	}
	p.s.Cancel(res.Number, yarn.CancelExchanged)
	p.s.ReservePlace(&found)
	return true
}
