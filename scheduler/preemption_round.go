package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/preempt"
	"rmd/yarn"
)

// Preemption takes containers from queues that use more than they are entitled to and gives their
// room to queues that use less. Package preempt computes the entitlements. Which containers end is
// decided here, in rounds:
//
//	judged        preemption_standing.go  warnings that are not needed any more are withdrawn
//	killed        preemption_standing.go  a set whose deadline has passed ends, if it still frees enough
//	chosen        preemption_ranked.go    for reservations of queues of a higher priority
//	              preemption_planned.go   which asks get room, and on which node
//	              preemption_nodes.go     what each node has to give
//	              preemption_set.go       the cheapest set of containers of a node
//	              preemption_balance.go   the same between queues that have their guarantee
//	              preemption_inside.go    the same between applications of one queue
//
// Whatever is chosen is reserved first: the batch that warns a container also makes the reservation
// that its room is for. Nobody else can take that room, and when the reservation ends for another
// reason its warnings end with it.

// preemptionRound is one round on the nodes of one label.
type preemptionRound struct {
	s             *Scheduler
	p             *partition
	set           *preempt.Settings
	leaves        []preemptionShare // parallel to cfg.Queues
	asked         []yarn.Resource   // parallel to cfg.Queues: what warned containers of the whole subtree have
	budget        *yarn.Resource    // what the round may still take
	kill          []uint32
	ranks         *rankedTaking // nil: queues take nothing by priority
	ranked        *rankedTaking // by which it chooses now; nil: not by priority
	balance       *balancing    // nil: queues do not balance
	balances      bool          // what it does now
	inside        *insideLeaf   // in which it chooses; nil: between queues
	standsBalance []standingSet // until they are judged
	// standsInside are the sets that applications of one leaf take from each other, until they are judged.
	standsInside []standingSet
	nodes        []offeringNode
	offers       []victim // of all nodes; each node has a part of them
	mayEnd       []victim // those of the node at hand that may end for an ask; reused
	scans        int      // asks for which all nodes may still be compared
	sets         int      // sets that may still be chosen
	guesses      int      // nodes on which it may still be guessed when there is room
	guess        waitLeft
}

// preemptionShare is what a leaf gives or gets.
type preemptionShare struct {
	over  yarn.Resource // what it uses above its guarantee
	take  yarn.Resource // the part of over that this round is to take
	lost  yarn.Resource // what of it is to end
	gain  yarn.Resource // what it may still be given
	under yarn.Resource // by which it is below its guarantee
	// inside says that its applications may take from each other: they want more than they get.
	inside bool
}

// Bounds on what one round looks at. What is left over waits for the next round.
const (
	preemptionScans = 64  // asks for which all nodes are compared
	preemptionSets  = 512 // sets of containers
)

// PreemptionRound judges what was asked to end, chooses what else is to end, and returns the slots
// of the containers that end now.
func (s *Scheduler) PreemptionRound() (kill []uint32) {
	set := &s.cfg.Preemption
	if !set.Enabled || set.ObserveOnly {
		s.WithdrawAll(yarn.WithdrawDisabled)
		return nil
	}
	return s.preempt(set)
}

// ObservePreemption is PreemptionRound for a copy of the state, whatever is switched off. Its events
// are what a round would decide.
func (s *Scheduler) ObservePreemption() (kill []uint32) { return s.preempt(&s.cfg.Preemption) }

func (s *Scheduler) preempt(set *preempt.Settings) (kill []uint32) {
	s.refreshCapacities()
	if set.Selector == preempt.YARN {
		return s.preemptAsYARN(set)
	}
	s.withdrawWhere(yarn.WithdrawNotChosen, func(_ *state.Container, p *state.Preemption) bool { return p.Reservation == 0 })
	var budget yarn.Resource
	for i, p := range s.partitions {
		queues := s.PreemptionPartition(p.label)
		if i == 0 {
			budget = queues.Budget(set)
		}
		s.at = p
		r := s.newPreemptionRound(p, queues, set, &budget)
		r.judge()
		r.judgeBalance()
		r.chooseByRank()
		r.choose()
		r.chooseBalance()
		r.chooseInsideLeaves()
		kill = append(kill, r.kill...)
	}
	s.at = s.partitions[0]
	return kill
}

// newPreemptionRound computes what each leaf gives and gets. What is reserved for balance is not part of
// what a queue is owed before all have their guarantee.
func (s *Scheduler) newPreemptionRound(p *partition, queues *preempt.Partition, set *preempt.Settings, budget *yarn.Resource) *preemptionRound {
	s.withoutReserved(queues.Queues, yarn.PreemptionCause.InsideQueue)
	balance := newBalancing(queues, set)
	s.withoutReserved(queues.Queues, func(c yarn.PreemptionCause) bool { return c == yarn.PreemptBalance })
	shares := queues.Entitlements(set, preempt.Mode{Reserved: true})
	r := &preemptionRound{s: s, p: p, set: set, budget: budget, scans: preemptionScans, sets: preemptionSets, guesses: guessesOfAll,
		leaves: make([]preemptionShare, len(shares)), asked: make([]yarn.Resource, len(shares)),
		ranks: newRankedTaking(queues, set, budget), balance: balance}
	for i := range shares {
		if q := &queues.Queues[i]; q.Leaf {
			r.leaves[i] = r.shareOf(q, &shares[i])
		}
	}
	return r
}

// shareOf is what a leaf gives or gets. It loses nothing of its guarantee that it uses or wants. What
// it loses may pass what it is to give in this round by a part of a container, as in YARN: else
// containers that are larger would never end.
func (r *preemptionRound) shareOf(q *preempt.Queue, share *preempt.Share) preemptionShare {
	v := preemptionShare{
		gain:   yarn.ComponentMax(share.Ideal, q.Guaranteed).Sub(q.Used), // YARN's roundings may leave Ideal below
		under:  yarn.ComponentMax(q.Guaranteed.Sub(q.Used).Add(q.Reserved), yarn.Resource{}),
		inside: share.Needy && !q.DisabledIntra,
	}
	if !q.Disabled {
		keep := r.s.cfg.Calculator.Min(r.p.total, q.Used.Add(q.Pending), q.Guaranteed)
		v.over, v.take = q.Used.Sub(keep), share.ToTake
		for i := range v.take { // a first container is taken however small the part is
			v.take[i] = r.set.NaturalTermination.MulCeil(max(v.take[i], 0))
		}
	}
	return v
}
