package preemption

import (
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// round is one round on the nodes of one label.
type round struct {
	entitlements
	sched         *scheduler.Scheduler
	rounds        *Rounds
	now           int64
	kill          []state.ContainerSlot
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

// entitlements says who may still get room in a round, and who may still lose some: leaves by their
// guarantees, or, while the round chooses by priority, for balance or inside a leaf, by the rules of
// that.
type entitlements struct {
	s      views.View // of the nodes of the label
	set    *entitlement.Settings
	queues []entitlement.Queue // parallel to Config.Queues
	leaves []leafShare         // parallel to Config.Queues
	asked  []yarn.Resource     // by queue: the size of the warned containers in its subtree
	budget *yarn.Resource      // what the round may still take
	part   yarn.Fraction       // of what a leaf must give; the rest may end by itself
	late   bool                // a leaf has waited for its guarantee for so long that it must get it now
	// pieces means that late is true and that no leaf must give anything, because the free room would
	// suffice for all that others want. But that room is in pieces, or on nodes that the leaf cannot use.
	pieces   bool
	ranks    *rankedTaking // nil: preemption by priority is off
	ranked   *rankedTaking // not nil while the round chooses by priority
	balance  *balancing    // nil: preemption for balance is off
	balances bool          // true while the round chooses for balance
	inside   *insideLeaf   // not nil while the round chooses inside a leaf
}

// leafShare is how much a leaf gives and gets in a round.
type leafShare struct {
	over  yarn.Resource // what it uses above its guarantee
	take  yarn.Resource // the part of over that this round may take
	lost  yarn.Resource // the part of over that the round has chosen
	gain  yarn.Resource // what the leaf may still get
	under yarn.Resource // how much it is below its guarantee
	ends  bool          // the round has chosen containers of it, or lets them stand
	// inside means that the leaf's applications may take from each other, because they want more
	// than they have.
	inside bool
	gives  bool // it uses more than its guarantee and what is ignored beyond it
	// keepsIdle is what may stand idle for the leaf because of the containers that end for it now.
	keepsIdle uint64
}

// Bounds on the work of one round. The rest waits for the next round.
const (
	mostScans = 64  // asks for which all nodes are compared
	mostSets  = 512 // sets of containers
)

// Rounds runs rounds of preemption. It keeps the memory of one round for the next: megabytes in a large
// cluster.
type Rounds struct {
	s      *scheduler.Scheduler
	nodes  []offeringNode
	offers []victim
}

// NewRounds returns the rounds of a scheduler.
func NewRounds(s *scheduler.Scheduler) *Rounds { return &Rounds{s: s} }

// Round judges the standing warnings, chooses further containers, and returns the slots
// of the containers that end now.
func (rounds *Rounds) Round() (kill []state.ContainerSlot) {
	set := &rounds.s.Config.Preemption
	if !set.Enabled || set.ObserveOnly {
		Stop(rounds.s)
		return nil
	}
	return rounds.run(set)
}

// Stop withdraws all warnings, except those of leases, and forgets which leaves wait for their
// guarantee.
func Stop(s *scheduler.Scheduler) {
	s.WithdrawWhere(yarn.WithdrawDisabled, func(*state.Container, *state.Preemption) bool { return true })
	endDebts(s)
	EndKept(s)
}

// Observe runs a round even if preemption is off. The scheduler must have a copy of the state. The
// emitted events are the decisions that a round would make.
func (rounds *Rounds) Observe() (kill []state.ContainerSlot) {
	return rounds.run(&rounds.s.Config.Preemption)
}

func (rounds *Rounds) run(set *entitlement.Settings) (kill []state.ContainerSlot) {
	s := rounds.s
	s.RefreshCapacities()
	if set.Selector == entitlement.YARN {
		endDebts(s)
		EndKept(s)
		return preemptAsYARN(s, set)
	}
	s.WithdrawWhere(yarn.WithdrawNotChosen, func(_ *state.Container,
		p *state.Preemption) bool {
		return p.Reservation == 0
	})
	var budget yarn.Resource
	for i, p := range s.Partitions {
		queues := PartitionOf(s.Views, p.Label)
		if i == 0 {
			budget = queues.Budget(set)
		}
		r := rounds.newRound(p.Label, s.Now(), queues, set, &budget)
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
		r.followKept()
		r.forgetNodes()
		kill = append(kill, r.kill...)
	}
	return kill
}

// newPreemptionRound computes what each leaf gives and gets. Room that is reserved for balance
// gives no claim to guaranteed room, so it is left out of the usage.
func (rounds *Rounds) newRound(label state.LabelSlot, now int64, queues *entitlement.Partition,
	set *entitlement.Settings, budget *yarn.Resource) *round {
	v := rounds.s.In(label, false)
	withoutReserved(&v, queues.Queues, yarn.PreemptionCause.InsideQueue)
	balance := newBalancing(queues, set)
	withoutReserved(&v, queues.Queues, func(c yarn.PreemptionCause) bool { return c == yarn.PreemptBalance })
	entitled, part, late := set, set.NaturalTermination, owesLate(v.State, label, now, set)
	if late { // there is no time to wait for the ends of containers
		entitled, part = set.Overdue(), yarn.One
	}
	shares := queues.Entitlements(entitled, entitlement.Mode{Reserved: true})
	r := &round{sched: rounds.s, rounds: rounds, now: now, scans: mostScans, sets: mostSets, guesses: guessesOfAll,
		making: map[state.AskSlot]int64{},
		entitlements: entitlements{s: v, set: set, budget: budget, part: part, late: late, pieces: late,
			leaves: make([]leafShare, len(shares)), asked: make([]yarn.Resource, len(shares)),
			queues: queues.Queues, ranks: newRankedTaking(queues, set, budget), balance: balance}}
	for i := range shares {
		if q := &queues.Queues[i]; q.Leaf {
			r.leaves[i] = r.shareOf(q, &shares[i])
			r.pieces = r.pieces && !r.gives(int32(i))
		}
	}
	return r
}

// shareOf returns what a leaf gives and gets. A leaf loses nothing of the part of its guarantee
// that it uses or wants. The last container may exceed what the leaf must give in this round, as in
// YARN. Otherwise large containers would never end.
func (e *entitlements) shareOf(q *entitlement.Queue, share *entitlement.Share) leafShare {
	v := leafShare{
		// because of YARN's roundings, Ideal may be below the guarantee
		gain:   yarn.ComponentMax(share.Ideal, q.Guaranteed).Sub(q.Used),
		under:  yarn.ComponentMax(q.Guaranteed.Sub(q.Used).Add(q.Reserved), yarn.Resource{}),
		over:   e.above(q),
		inside: share.Needy && !q.DisabledIntra,
		gives:  share.MayGive,
	}
	if !q.Disabled {
		v.take = share.ToTake
		for i := range v.take { // the first container is taken, however small the part is
			v.take[i] = e.part.MulCeil(max(v.take[i], 0))
		}
	}
	return v
}

// above returns what a leaf uses above the part of its guarantee that it uses or wants. It returns
// nothing for a leaf that gives nothing.
func (e *entitlements) above(q *entitlement.Queue) (none yarn.Resource) {
	if q.Disabled {
		return none
	}
	return q.Used.Sub(e.s.Config.Calculator.Min(e.s.At.Total, q.Used.Add(q.Pending), q.Guaranteed))
}

// countReserved counts a reservation as used that was made for balance and no longer is for
// balance.
func (e *entitlements) countReserved(leaf int32, size yarn.Resource) {
	q, share := &e.queues[leaf], &e.leaves[leaf]
	q.Used, q.Reserved = q.Used.Add(size), q.Reserved.Add(size)
	share.over, share.gain = e.above(q), share.gain.Sub(size)
}
