package preempt

import "rmd/yarn"

// Partition is the nodes of one label and what the queues have of them.
type Partition struct {
	Calculator yarn.Calculator
	Cluster    yarn.Resource // of all labels together: the budget of a round is a part of it
	Total      yarn.Resource // of this one
	Queues     []Queue       // parallel to capacity.Config.Queues: parents before their children
}

// Queue is a queue of a partition.
type Queue struct {
	Parent   int32 // −1: root
	Leaf     bool
	Disabled bool // disable_preemption, inherited: nothing is taken from it
	// DisabledIntra is intra-queue-preemption.disable_preemption, inherited.
	DisabledIntra bool
	// Priority is its priority; 0 where the parent's order does not look at priorities.
	Priority int32

	AbsCapacity     yarn.Fraction // of the partition
	Guaranteed, Max yarn.Resource
	Used            yarn.Resource // Reserved included
	Reserved        yarn.Resource

	// Pending is what a leaf's users want, each within its limit. PendingLessReserved is the same
	// where each application has its reservations taken off. Both are zero for parents: a parent
	// wants what its leaves want.
	Pending, PendingLessReserved yarn.Resource

	// Killable is the part of Used that was asked to end and has not ended.
	Killable yarn.Resource
}

// Mode is the variant of the calculation that a selector needs.
type Mode struct {
	// Reserved is for a selector that makes room for reservations: it counts what is reserved as
	// wanted, and takes all at once, without the factor for natural termination.
	Reserved bool
	// Balance is for a selector that also takes from a queue for another that has its guarantee.
	Balance bool
}

// Share is what a queue may keep and what must be taken from it.
type Share struct {
	Ideal       yarn.Resource // what it should have of the partition
	Untouchable yarn.Resource // used above its guarantee by queues with preemption disabled
	// Excess is what it uses and should not, scaled down to the budget of a round.
	Excess yarn.Resource
	// Needy says that more was offered to it, so that its applications may take from each other.
	Needy bool
	// ToTake is what must be taken from a leaf in this round: Excess, if it is over its guarantee by
	// more than may be ignored, times the factor for natural termination. Zero for parents.
	ToTake yarn.Resource
}

// Entitlements computes the share of each queue; the result is parallel to p.Queues. In a component
// an amount may be below zero: nothing of that kind must be taken.
func (p *Partition) Entitlements(s *Settings, m Mode) []Share {
	c := newCalculation(p, p.Budget(s), m)
	c.shares[0].Ideal = p.Queues[0].Guaranteed
	for i := range p.Queues {
		if !p.Queues[i].Leaf {
			c.distribute(int32(i))
		}
	}
	for i := range p.Queues {
		c.shares[i].ToTake = c.toTake(i, s)
	}
	return c.shares
}

// Wanted is what a leaf waits for.
func (q *Queue) Wanted() yarn.Resource {
	if !q.Leaf {
		return yarn.Resource{}
	}
	return q.Pending.Add(q.Reserved)
}

// ForNobody says whether no other leaf waits for what a leaf gives, and neither it nor a queue above it
// uses more than it may. wanted is what all leaves wait for. YARN's roundings may make a leaf give some
// MiB then, which would cost it a container.
func (p *Partition) ForNobody(leaf int, wanted yarn.Resource) bool {
	if !wanted.Sub(p.Queues[leaf].Wanted()).IsZero() {
		return false
	}
	for i := int32(leaf); i >= 0; i = p.Queues[i].Parent {
		if q := &p.Queues[i]; !p.Calculator.FitsIn(q.Used, q.Max) {
			return false
		}
	}
	return true
}

// Budget is how much of all partitions together may be taken in one round.
func (p *Partition) Budget(s *Settings) yarn.Resource {
	return MultiplyFloat(p.Cluster, s.TotalPerRound)
}

// MultiplyFloat multiplies each component by what Java reads of a configured number as a float, and
// rounds towards zero.
func MultiplyFloat(r yarn.Resource, by yarn.Fraction) yarn.Resource {
	return multiply(r, decimal(by, float))
}

// Satisfied says whether a leaf has its guarantee, or will have it with what it gains: then a higher
// priority entitles it to nothing. What it has only reserved does not count.
//
// Source: Hadoop 3.4.2, QueuePriorityContainerCandidateSelector.isQueueSatisfied.
func (p *Partition) Satisfied(leaf int32, gained yarn.Resource) bool {
	q := &p.Queues[leaf]
	return p.Calculator.Compare(p.Cluster, q.Used.Sub(q.Reserved).Add(gained), q.Guaranteed) >= 0
}
