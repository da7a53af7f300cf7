package entitlement

import "rmd/yarn"

// Partition has the nodes of one label, and how the queues use them.
type Partition struct {
	Calculator yarn.Calculator
	Cluster    yarn.Resource // of all partitions; the budget of a round is a fraction of it
	Total      yarn.Resource // of this partition
	Queues     []Queue       // parallel to capacity.Config.Queues: parents before their children
}

// Queue is a queue in a partition.
type Queue struct {
	Parent   int32 // −1: root
	Leaf     bool
	Disabled bool // disable_preemption, inherited: nothing is taken from it
	// DisabledIntra says that the applications of a leaf take nothing from each other:
	// disable_preemption or intra-queue-preemption.disable_preemption is set, or inherited.
	DisabledIntra bool
	// Priority is the queue's priority, or 0 if the ordering policy of its parent ignores
	// priorities.
	Priority int32

	AbsCapacity     yarn.Fraction // of the partition
	Guaranteed, Max yarn.Resource
	Used            yarn.Resource // Reserved included
	Reserved        yarn.Resource

	// Pending is what the users of a leaf ask for, each within the user's limit.
	// PendingLessReserved is the same after the reservations of each application are subtracted.
	// Both are zero for parents, whose demand is that of their leaves.
	Pending, PendingLessReserved yarn.Resource

	// Killable is the part of Used whose containers have been told to end and have not ended yet.
	Killable yarn.Resource
}

// Mode selects the variant of the calculation, which depends on the selector that uses it.
type Mode struct {
	// Reserved is for a selector that frees nodes for reservations: reserved resources count as
	// wanted, and the factor for natural termination is not applied.
	Reserved bool
	// Balance is for a selector that balances queues that all have their guarantee: a leaf may be
	// entitled to more than its use and its guarantee.
	Balance bool
}

// Share says how much a queue may keep and how much must be taken from it.
type Share struct {
	Ideal       yarn.Resource // the queue's ideal part of the partition
	Untouchable yarn.Resource // the use above its guarantee by queues with preemption disabled
	// Excess is what the queue uses above what it may keep, scaled down to the budget of a round.
	Excess yarn.Resource
	// Needy says that the queue wanted more than its initial ideal, so its applications may take
	// from each other.
	Needy bool
	// ToTake is what must be taken from a leaf in this round: Excess times the factor for natural
	// termination, or nothing if the use exceeds the guarantee by no more than is ignored. It is
	// zero for parents.
	ToTake yarn.Resource
	// MayGive says that the leaf uses more than its guarantee and what is ignored beyond it, and that
	// preemption may take from it.
	MayGive bool
}

// Entitlements computes the share of each queue. The result is parallel to p.Queues. A negative
// component means that nothing of that kind must be taken.
func (p *Partition) Entitlements(s *Settings, m Mode) []Share {
	c := newCalculation(p, p.Budget(s), m)
	c.shares[0].Ideal = p.Queues[0].Guaranteed
	for i := range p.Queues {
		if !p.Queues[i].Leaf {
			c.distribute(int32(i))
		}
	}
	for i := range p.Queues {
		c.shares[i].MayGive = c.mayGive(i, s)
		c.shares[i].ToTake = c.toTake(i, s)
	}
	return c.shares
}

// Wanted returns the pending and reserved resource of a leaf; zero for parents.
func (q *Queue) Wanted() yarn.Resource {
	if !q.Leaf {
		return yarn.Resource{}
	}
	return q.Pending.Add(q.Reserved)
}

// ForNobody reports whether no queue would gain from what is taken from a leaf: no other leaf wants
// anything, and neither the leaf nor a queue above it uses more than its maximum. wanted is the sum
// of Wanted over all leaves. Because of its rounding, YARN may still take a few MiB from such a
// leaf, which would end a container.
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

// Budget returns the most that may be taken in one round from all partitions together.
func (p *Partition) Budget(s *Settings) yarn.Resource {
	return MultiplyFloat(p.Cluster, s.TotalPerRound)
}

// MultiplyFloat multiplies each component by a configured number that Java reads as a float, and
// rounds towards zero.
func MultiplyFloat(r yarn.Resource, by yarn.Fraction) yarn.Resource {
	return multiply(r, decimal(by, float))
}

// Satisfied reports whether a leaf has its guarantee, or will have it with what it gains. Then a
// higher priority entitles it to nothing. Reserved resources do not count as its own.
//
// Source: Hadoop 3.4.2, QueuePriorityContainerCandidateSelector.isQueueSatisfied.
func (p *Partition) Satisfied(leaf int32, gained yarn.Resource) bool {
	q := &p.Queues[leaf]
	return p.Calculator.Compare(p.Cluster, q.Used.Sub(q.Reserved).Add(gained), q.Guaranteed) >= 0
}
