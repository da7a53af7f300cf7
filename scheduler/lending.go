package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// A node with a non-exclusive label is lent to asks without a label if no ask for the label wants
// it. An ask borrows only after it has missed as many offers as the cluster has nodes, counted
// since a node without a label last served it. Until then a node without a label may have room for
// it.
//
// Source: Hadoop 3.4.2, RegularContainerAllocator.preCheckForNodeCandidateSet.

// borrower reports whether an ask may ever use a node of another label. AMs may not, unless
// configured, because the loss of the node would end an application.
func (s *rules) borrower(k *state.Ask) bool {
	return k.Label == 0 && (!k.AM || s.Config.LabelSettings.AMNonExclusive)
}

// lendsTo reports whether a node may be lent to an ask once the ask has missed enough offers.
func (s *rules) lendsTo(n *state.Node, k *state.Ask) bool {
	return s.PartitionOf(n).Lends && s.borrower(k)
}

// mayBorrow reports whether an ask that has missed some offers may use nodes of other labels. The
// increase of a container on a lent node need not wait.
func (s *rules) mayBorrow(k *state.Ask, missed uint32) bool {
	return s.borrower(k) && (k.IncreaseOf != 0 || missed >= s.OffersToMiss())
}

// missed returns how many offers an ask has missed, with the current one.
func (p *pass) missed(k *state.Ask) uint32 {
	if p.counting {
		return k.Missed + 1
	}
	return k.Missed
}

// OffersToMiss returns how many offers an ask must miss before it may borrow.
func (s *rules) OffersToMiss() uint32 { return uint32(s.State.Meta.UsableNodes) }

// countsMisses reports whether the current offer counts as a missed offer of an ask. YARN continues
// to count after there are enough.
func (p *pass) countsMisses(k *state.Ask) bool {
	return p.counting && p.Lends && k.IncreaseOf == 0 && p.s.borrower(k) && k.Missed < p.s.OffersToMiss()
}

// missedAfter updates the count of missed offers after an allocation or reservation. A node without
// a label resets the count; a lent node increases it.
func (p *pass) missedAfter(d *decision, missed uint32, counts bool) {
	after := missed
	switch {
	case p.At.Label == 0:
		after = 0
	case counts:
		after++
	}
	if a := p.State.Apps.Get(d.app); after != missed && p.State.Asks.Find(a, d.key) != 0 {
		p.s.updateMisses(a, d.key, after)
	}
}

func (s *Scheduler) updateMisses(a *state.App, key yarn.SchedulerKey, missed uint32) {
	s.Emit(&event.AskMissesUpdated{App: a.ID.Seq, Key: key, Missed: missed})
}
