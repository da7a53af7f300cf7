package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// A node with a non-exclusive label is lent to asks without a label if no ask for the label wants
// it. An ask borrows only after it has missed as many offers as the cluster has nodes, counted
// since a node without a label last served it. Until then a node without a label may have room for
// it.
//
// Source: Hadoop 3.4.2, RegularContainerAllocator.preCheckForNodeCandidateSet.

// LabelServed is the label of the asks to which the current pass offers a node.
func (s *Scheduler) LabelServed(n *state.Node) state.LabelID {
	if s.lending {
		return 0
	}
	return n.Label
}

// borrower says whether an ask may ever use a node of another label. AMs may not, because the
// return of the node would end an application.
func (s *Scheduler) borrower(k *state.Ask) bool {
	return k.Label == 0 && (!k.AM || s.cfg.LabelSettings.AMNonExclusive)
}

// lendsTo says whether a node may be lent to an ask after the ask has missed enough offers.
func (s *Scheduler) lendsTo(n *state.Node, k *state.Ask) bool {
	return s.partitionOf(n).lends && s.borrower(k)
}

// mayBorrow says whether an ask may use nodes of other labels now. An increase of a container on a
// lent node does not wait.
func (s *Scheduler) mayBorrow(k *state.Ask) bool {
	missed := k.Missed
	if s.counting {
		missed++ // the current offer
	}
	return s.borrower(k) && (k.IncreaseOf != 0 || missed >= s.OffersToMiss())
}

// Look selects the nodes of one label for questions about limits and orders. With lent it selects
// asks without a label on these nodes. Look(0, false) ends the selection. It returns the
// capacities.
func (s *Scheduler) Look(label state.LabelID, lent bool) *capacity.Tree {
	s.at, s.lending = s.partitions[label], lent
	return s.at.tree
}

// Total is the resource of the selected nodes.
func (s *Scheduler) Total() yarn.Resource { return s.at.total }

// OffersToMiss is how many offers an ask must miss before it may borrow.
func (s *Scheduler) OffersToMiss() uint32 { return uint32(s.st.Meta.UsableNodes) }

// countsMisses says whether the current offer counts among the missed offers of an ask. YARN
// continues to count after there are enough.
func (s *Scheduler) countsMisses(k *state.Ask) bool {
	return s.counting && s.lends && k.IncreaseOf == 0 && s.borrower(k) && k.Missed < s.OffersToMiss()
}

// missedAfter updates the count of missed offers after a grant. A node without a label resets it; a
// lent node increases it.
func (s *Scheduler) missedAfter(d *decision, missed uint32, counts bool) {
	after := missed
	switch {
	case s.at.label == 0:
		after = 0
	case counts:
		after++
	}
	if a := s.st.Apps.Get(d.app); after != missed && s.st.Ask(a, d.key) != 0 {
		s.updateMisses(a, d.key, after)
	}
}

func (s *Scheduler) updateMisses(a *state.App, key yarn.SchedulerKey, missed uint32) {
	s.Emit(&event.AskMissesUpdated{App: a.ID.Seq, Key: key, Missed: missed})
}
