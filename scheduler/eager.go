package scheduler

import (
	"slices"

	"rmd/yarn"
)

// Bounds on the additional passes that one input may cause. The rest waits for heartbeats.
const (
	eagerGrants = 128 // passes with an allocation or reservation
	eagerMisses = 8   // passes without one
)

// AsksMore records that an application has a new ask, for RunEagerPasses.
func (s *Scheduler) AsksMore(slot uint32) {
	if s.eager && !slices.Contains(s.asking, slot) {
		s.asking = append(s.asking, slot)
	}
}

// NodeFreed records that a node has more room, for RunEagerPasses.
func (s *Scheduler) NodeFreed(node uint32) { s.freed = append(s.freed, node) }

// RunEagerPasses runs the passes that an input has made useful: on the nodes with freed room, and
// on nodes with room for the new asks. Without eager mode it does nothing.
func (s *Scheduler) RunEagerPasses() {
	if !s.eager {
		s.freed, s.asking = s.freed[:0], s.asking[:0]
		return
	}
	budget := &eagerBudget{grants: eagerGrants, misses: eagerMisses}
	s.preferOthers(budget)
	s.runEagerPasses(budget)
}

// runEagerPasses runs passes until nothing is left to do or the budget is spent.
func (s *Scheduler) runEagerPasses(budget *eagerBudget) {
	for len(s.freed) > 0 || len(s.asking) > 0 {
		freed, asking := slices.Clone(s.freed), slices.Clone(s.asking)
		s.freed, s.asking = s.freed[:0], s.asking[:0]
		slices.Sort(freed)
		for _, n := range slices.Compact(freed) {
			s.eagerPass(n, budget)
		}
		for _, a := range asking {
			s.servePending(a, budget)
		}
		if budget.spent() {
			s.freed, s.asking = s.freed[:0], s.asking[:0]
		}
	}
}

type eagerBudget struct{ grants, misses int }

func (b *eagerBudget) spent() bool { return b.grants <= 0 || b.misses <= 0 }

// eagerPass runs EagerPass within the budget.
func (s *Scheduler) eagerPass(node uint32, b *eagerBudget) bool {
	if b.spent() || !s.st.Nodes.Has(node) || !s.st.Nodes.Get(node).TakesContainers() || s.leftOut(node) {
		return false
	}
	granted := s.EagerPass(node)
	switch {
	case granted:
		b.grants--
	case !s.leftOut(node): // else it is not tried again before the other nodes
		b.misses--
	}
	return granted
}

// EagerPass runs passes on a node without counting missed opportunities. It reports whether a pass
// allocated or reserved something.
func (s *Scheduler) EagerPass(node uint32) bool {
	if !s.st.Nodes.Get(node).TakesContainers() {
		return false
	}
	s.lookForAvoiding(node)
	reserved := s.st.Nodes.Get(node).Reservation
	return s.serve(node) || reserved != 0 && s.st.Nodes.Get(node).Reservation != reserved
}

// servePending runs passes on nodes with room for an application's asks, the emptiest nodes of each
// partition first, until the application has everything or the budget is spent.
func (s *Scheduler) servePending(app uint32, b *eagerBudget) {
	for _, p := range s.partitions {
		s.servePendingOn(p, app, b)
	}
}

// servePendingOn runs passes on nodes of a partition: first those without a reservation, then those
// that lend.
func (s *Scheduler) servePendingOn(p *partition, app uint32, b *eagerBudget) {
	s.servePendingIn(&p.nodes, p, app, b)
	if s.backfills {
		s.servePendingIn(&p.lent, p, app, b)
	}
}

func (s *Scheduler) servePendingIn(nodes *nodeIndex, p *partition, app uint32, b *eagerBudget) {
	for !b.spent() {
		size, ok := s.smallestAsk(app, p)
		if !ok {
			return
		}
		var granted bool
		for bucket, node := nodes.next(0, 0, size); node != 0 && !b.spent(); bucket, node = nodes.next(bucket, node, size) {
			if s.eagerPass(node, b) {
				granted = true
				break // the index has changed: start again with the emptiest node
			}
		}
		if !granted {
			return
		}
	}
}

// smallestAsk returns the least memory among the asks of an application that nodes of the partition
// may serve. ok is false if there are none.
func (s *Scheduler) smallestAsk(app uint32, p *partition) (int64, bool) {
	if !s.st.Apps.Has(app) || !s.st.Apps.Get(app).Activated() {
		return 0, false
	}
	var least int64
	var found bool
	for _, k := range s.st.AsksOf(s.st.Apps.Get(app)) {
		if k.Count > 0 && k.IncreaseOf == 0 && (k.Label == p.label || p.lends && s.mayBorrow(k)) && (!found || k.Size[yarn.Memory] < least) {
			least, found = k.Size[yarn.Memory], true
		}
	}
	return least, found
}
