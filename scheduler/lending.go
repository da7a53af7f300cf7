package scheduler

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// A node whose label is not exclusive is lent to asks without a label when no ask for the label wants
// it. An ask borrows only after it has missed as many offers as the cluster has nodes since a node
// without a label served it: a node without a label may have room for it by then.
//
// Source: Hadoop 3.4.2, RegularContainerAllocator.preCheckForNodeCandidateSet.

// LabelServed is the label of the asks that the present pass offers a node to.
func (s *Scheduler) LabelServed(n *state.Node) state.LabelID {
	if s.lending {
		return 0
	}
	return n.Label
}

// borrower says whether an ask may ever use a node of another label. An AM may not: nothing that
// wants the node back should end an application.
func (s *Scheduler) borrower(k *state.Ask) bool {
	return k.Label == 0 && (!k.AM || s.cfg.LabelSettings.AMNonExclusive)
}

// lendsTo says whether a node may be lent to an ask, however many offers that must miss before.
func (s *Scheduler) lendsTo(n *state.Node, k *state.Ask) bool {
	return s.partitionOf(n).lends && s.borrower(k)
}

// mayBorrow says whether an ask may use nodes of other labels now. A container that has borrowed its
// node grows there without waiting.
func (s *Scheduler) mayBorrow(k *state.Ask) bool {
	missed := k.Missed
	if s.counting {
		missed++ // the present offer
	}
	return s.borrower(k) && (k.IncreaseOf != 0 || missed >= s.OffersToMiss())
}

// Look has the questions about limits and orders answered for the nodes of one label; lent: for asks
// without a label, to which the nodes are lent. Look(0, false) ends that. It returns the capacities.
func (s *Scheduler) Look(label state.LabelID, lent bool) *capacity.Tree {
	s.at, s.lending = s.partitions[label], lent
	return s.at.tree
}

// Total is what the nodes have that questions are answered for.
func (s *Scheduler) Total() yarn.Resource { return s.at.total }

// OffersToMiss is how many offers an ask must miss before it may borrow.
func (s *Scheduler) OffersToMiss() uint32 { return uint32(s.st.Meta.UsableNodes) }

// countsMisses says whether the present offer counts among those that an ask has missed. YARN goes on
// counting when there are enough.
func (s *Scheduler) countsMisses(k *state.Ask) bool {
	return s.counting && s.lends && k.IncreaseOf == 0 && s.borrower(k) && k.Missed < s.OffersToMiss()
}

// missedAfter keeps the count of missed offers after a grant, before which it was missed: a node
// without a label starts it again, a lent one counts.
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
