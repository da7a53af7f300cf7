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

// servePending runs passes on the nodes that the order of nodes gives for an application's asks,
// until the application has everything that it can get now or the budget is spent.
func (s *Scheduler) servePending(app uint32, b *eagerBudget) {
	for _, p := range s.partitions {
		for !b.spent() && s.servePendingOn(p, app, b) {
		}
	}
}

// servePendingOn runs a pass for the first ask of an application that nodes of a partition can
// serve now. It reports whether a pass allocated or reserved something. If there is no room for an
// ask, it runs a pass that may reserve a node.
func (s *Scheduler) servePendingOn(p *partition, app uint32, b *eagerBudget) bool {
	if !s.st.Apps.Has(app) || !s.st.Apps.Get(app).Activated() {
		return false
	}
	for ask, k := range s.st.AsksOf(s.st.Apps.Get(app)) {
		if k.Count == 0 || k.IncreaseOf != 0 || k.Label != p.label && !(p.lends && s.mayBorrow(k)) {
			continue
		}
		if s.serveAsk(p, ask, b) {
			return true
		}
		if b.spent() {
			return false
		}
	}
	return false
}

// serveAsk runs passes for one ask: on the first node of the order or, if no node has room, on
// reserved nodes that lend, and last on a node that the ask may reserve. It reports whether a pass
// allocated or reserved something.
func (s *Scheduler) serveAsk(p *partition, ask uint32, b *eagerBudget) bool {
	if free := s.nodesFor(p, ask, false, 1); len(free) > 0 {
		return s.eagerPass(free[0].node, b)
	}
	if s.backfills {
		for _, lent := range slices.Clone(s.nodesFor(p, ask, true, eagerMisses)) {
			if s.eagerPass(lent.node, b) {
				return true
			}
		}
	}
	node := s.nodeToReserve(p, ask)
	return node != 0 && s.eagerPass(node, b)
}

// nodeToReserve returns the emptiest node that an ask may reserve, or 0 if there is none.
func (s *Scheduler) nodeToReserve(p *partition, ask uint32) uint32 {
	k := s.st.Asks.Get(ask)
	a := s.st.Apps.Get(k.App)
	if !s.needsMore(a, k) || s.st.HoldsBack(k) {
		return 0
	}
	for node := range s.reservableNodes(p, a, ask, yarn.OffSwitch) {
		return node
	}
	return 0
}
