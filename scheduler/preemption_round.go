package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/preempt"
	"rmd/yarn"
)

// Preemption takes containers from queues that use more than they are entitled to and gives their
// room to queues that use less. Package preempt computes the entitlements. A round decides which
// containers end, in these steps:
//
//	        preemption_debt.go      record which leaves wait for their guarantee, and since when
//	judge   preemption_standing.go  withdraw warnings that are not needed any more; end a set whose
//	                                deadline has passed, if it still frees enough
//	choose  preemption_ranked.go    for reservations of queues of a higher priority
//	        preemption_planned.go   for queues below their entitlement: which ask, which node
//	        preemption_balance.go   between queues that have their guarantee
//	        preemption_inside.go    between applications of one queue
//
// preemption_nodes.go collects the containers of each node that may end, and preemption_set.go
// finds the cheapest set of them.
//
// The batch that warns a container also makes the reservation that gets its room. So no other
// application can take the room. When the reservation ends for another reason, its warnings end
// with it.

// preemptionRound is one round on the nodes of one label.
type preemptionRound struct {
	s             View // of the nodes of the label
	set           *preempt.Settings
	queues        []preempt.Queue   // parallel to cfg.Queues
	leaves        []preemptionShare // parallel to cfg.Queues
	asked         []yarn.Resource   // by queue: the size of the warned containers in its subtree
	budget        *yarn.Resource    // what the round may still take
	part          yarn.Fraction     // of what a leaf must give; the rest may end by itself
	late          bool              // a leaf has waited for its guarantee for so long that it must get it now
	kill          []state.ContainerSlot
	ranks         *rankedTaking // nil: preemption by priority is off
	ranked        *rankedTaking // not nil while the round chooses by priority
	balance       *balancing    // nil: preemption for balance is off
	balances      bool          // true while the round chooses for balance
	inside        *insideLeaf   // not nil while the round chooses inside a leaf
	standsBalance []standingSet // sets for balance that are not judged yet
	// standsInside are the sets inside leaves that are not judged yet.
	standsInside []standingSet
	nodes        []offeringNode
	offers       []victim // of all nodes, grouped by node
	mayEnd       []victim // scratch space of cheapest
	scans        int      // asks for which all nodes may still be compared
	sets         int      // sets that may still be chosen
	guesses      int      // nodes for which the round may still estimate when they have room
	guess        waitLeft
	// making counts, by ask, the containers for which sets make room beyond the ask's reservations.
	// It is only looked up.
	making map[state.AskSlot]int64
}

// preemptionShare is how much a leaf gives and gets in a round.
type preemptionShare struct {
	over  yarn.Resource // what it uses above its guarantee
	take  yarn.Resource // the part of over that this round may take
	lost  yarn.Resource // the part of over that the round has chosen
	gain  yarn.Resource // what the leaf may still get
	under yarn.Resource // how much it is below its guarantee
	ends  bool          // the round has chosen containers of it, or lets them stand
	// inside means that the leaf's applications may take from each other, because they want more
	// than they have.
	inside bool
}

// Bounds on the work of one round. The rest waits for the next round.
const (
	preemptionScans = 64  // asks for which all nodes are compared
	preemptionSets  = 512 // sets of containers
)

// PreemptionRound judges the standing warnings, chooses further containers, and returns the slots
// of the containers that end now.
func (s *Scheduler) PreemptionRound() (kill []state.ContainerSlot) {
	set := &s.cfg.Preemption
	if !set.Enabled || set.ObserveOnly {
		s.StopPreempting()
		return nil
	}
	return s.preempt(set)
}

// StopPreempting withdraws all warnings, except those of leases, and forgets which leaves wait for
// their guarantee.
func (s *Scheduler) StopPreempting() {
	s.withdrawAll()
	s.endDebts()
}

// ObservePreemption runs a preemption round even if preemption is off. The caller passes a copy of
// the state. The emitted events are the decisions that a round would make.
func (s *Scheduler) ObservePreemption() (kill []state.ContainerSlot) {
	return s.preempt(&s.cfg.Preemption)
}

func (s *Scheduler) preempt(set *preempt.Settings) (kill []state.ContainerSlot) {
	s.refreshCapacities()
	if set.Selector == preempt.YARN {
		s.endDebts()
		return s.preemptAsYARN(set)
	}
	s.withdrawWhere(yarn.WithdrawNotChosen, func(_ *state.Container, p *state.Preemption) bool { return p.Reservation == 0 })
	var budget yarn.Resource
	for i, p := range s.partitions {
		queues := s.PreemptionPartition(p.label)
		if i == 0 {
			budget = queues.Budget(set)
		}
		v := s.view(p)
		r := v.newPreemptionRound(queues, set, &budget)
		r.followDebts()
		before := budget
		r.judge()
		r.judgeBalance()
		if r.late { // there is no time to wait until earlier sets have ended: only new ones count
			budget = before
		}
		r.chooseByRank()
		r.choose()
		r.chooseBalance()
		r.chooseInsideLeaves()
		r.forgetNodes()
		kill = append(kill, r.kill...)
	}
	return kill
}

// newPreemptionRound computes what each leaf gives and gets. Room that is reserved for balance
// gives no claim to guaranteed room, so it is left out of the usage.
func (v *View) newPreemptionRound(queues *preempt.Partition, set *preempt.Settings, budget *yarn.Resource) *preemptionRound {
	v.withoutReserved(queues.Queues, yarn.PreemptionCause.InsideQueue)
	balance := newBalancing(queues, set)
	v.withoutReserved(queues.Queues, func(c yarn.PreemptionCause) bool { return c == yarn.PreemptBalance })
	entitled, part, late := set, set.NaturalTermination, v.owesLate(v.at, set)
	if late { // there is no time to wait for the ends of containers
		entitled, part = set.Overdue(), yarn.One
	}
	shares := queues.Entitlements(entitled, preempt.Mode{Reserved: true})
	r := &preemptionRound{s: *v, set: set, budget: budget, scans: preemptionScans, sets: preemptionSets, guesses: guessesOfAll,
		making: map[state.AskSlot]int64{},
		leaves: make([]preemptionShare, len(shares)), asked: make([]yarn.Resource, len(shares)),
		queues: queues.Queues, ranks: newRankedTaking(queues, set, budget), balance: balance, part: part, late: late}
	for i := range shares {
		if q := &queues.Queues[i]; q.Leaf {
			r.leaves[i] = r.shareOf(q, &shares[i])
		}
	}
	return r
}

// shareOf returns what a leaf gives and gets. A leaf loses nothing of the part of its guarantee
// that it uses or wants. The last container may exceed what the leaf must give in this round, as in
// YARN. Otherwise large containers would never end.
func (r *preemptionRound) shareOf(q *preempt.Queue, share *preempt.Share) preemptionShare {
	v := preemptionShare{
		gain:   yarn.ComponentMax(share.Ideal, q.Guaranteed).Sub(q.Used), // because of YARN's roundings, Ideal may be below the guarantee
		under:  yarn.ComponentMax(q.Guaranteed.Sub(q.Used).Add(q.Reserved), yarn.Resource{}),
		over:   r.above(q),
		inside: share.Needy && !q.DisabledIntra,
	}
	if !q.Disabled {
		v.take = share.ToTake
		for i := range v.take { // the first container is taken, however small the part is
			v.take[i] = r.part.MulCeil(max(v.take[i], 0))
		}
	}
	return v
}

// above returns what a leaf uses above the part of its guarantee that it uses or wants. It returns
// nothing for a leaf that gives nothing.
func (r *preemptionRound) above(q *preempt.Queue) (none yarn.Resource) {
	if q.Disabled {
		return none
	}
	return q.Used.Sub(r.s.cfg.Calculator.Min(r.s.at.total, q.Used.Add(q.Pending), q.Guaranteed))
}

// countReserved counts a reservation as used that was made for balance and no longer is for
// balance.
func (r *preemptionRound) countReserved(leaf int32, size yarn.Resource) {
	q, share := &r.queues[leaf], &r.leaves[leaf]
	q.Used, q.Reserved = q.Used.Add(size), q.Reserved.Add(size)
	share.over, share.gain = r.above(q), share.gain.Sub(size)
}
