package scheduler

import (
	"rmd/scheduler/preempt"
	"rmd/yarn"
)

// balancing distributes the rest among leaves when all have their guarantee. Package preempt
// computes the ideal share of each leaf as YARN does.
type balancing struct {
	partition *preempt.Partition
	shares    []preempt.Share
	used      []yarn.Resource // by leaf
	gain      []yarn.Resource // by leaf: what it may still get
	take      []yarn.Resource // by leaf: what it must still give
}

// newBalancing computes the ideal shares; nil if balance is off.
func newBalancing(queues *preempt.Partition, set *preempt.Settings) *balancing {
	if !set.Balance {
		return nil
	}
	b := &balancing{partition: queues, shares: queues.Entitlements(set, preempt.Mode{Balance: true})}
	for i := range b.shares {
		b.used = append(b.used, queues.Queues[i].Used)
		b.gain = append(b.gain, b.shares[i].Ideal.Sub(queues.Queues[i].Used))
		b.take = append(b.take, b.shares[i].ToTake)
	}
	return b
}

// mayLose says whether a leaf still has its ideal share after a loss. lost is what the round has
// already chosen of it. With conservative-drf, each resource of the loss must stay above the ideal.
func (b *balancing) mayLose(leaf int32, lost, loses yarn.Resource, conservative bool) bool {
	left := b.used[leaf].Sub(lost).Sub(loses)
	if conservative {
		for i := range b.partition.Calculator.Kinds {
			if loses[i] > 0 && left[i] < b.shares[leaf].Ideal[i] {
				return false
			}
		}
	}
	return b.partition.Calculator.Compare(b.partition.Total, left, b.shares[leaf].Ideal) >= 0
}

// balanceRound is a copy of the round that chooses for balance.
func (r *preemptionRound) balanceRound() *preemptionRound {
	here := *r
	here.balances, here.nodes, here.offers, here.kill, here.guess = true, nil, nil, nil, waitLeft{}
	return &here
}

// judgeBalance judges the standing sets for balance, after all other sets.
func (r *preemptionRound) judgeBalance() {
	for _, set := range r.standsBalance {
		r.askAll(&set, -1)
		switch {
		case r.balance == nil:
			r.withdraw(set, yarn.WithdrawNotEntitled)
		case r.hasten(set):
		default:
			here := r.balanceRound()
			here.judgeOne(set)
			r.kill = append(r.kill, here.kill...)
		}
	}
}

// hasten warns a set again, with the shorter deadline, if its beneficiary is now below its
// guarantee and the victims must give for guarantees. It reports whether it did.
func (r *preemptionRound) hasten(set standingSet) bool {
	w := r.s.st.Preemptions.Get(set.victims[0])
	res := r.reservationOf(&set)
	leaf := r.s.leafOfReservation(res)
	if w.DeadlineMillis <= r.s.now+r.set.MaxWaitMillis || !r.mayGain(leaf, res.Size) || r.judgeSet(&set) != 0 {
		return false
	}
	again := preemptionSet{victims: r.victimsOf(set.victims), cost: w.Cost, compared: w.Sets}
	for _, v := range again.victims {
		if !r.gives(v.leaf) {
			return false
		}
	}
	r.s.withdrawFor(res, yarn.WithdrawNotChosen)
	r.leaves[leaf].gain = r.leaves[leaf].gain.Sub(res.Size) // balance.gain already has it
	r.warn(beneficiary{leaf: leaf, app: res.App}, &again, res.Number, yarn.PreemptGuarantee)
	return true
}

// chooseBalance chooses containers of leaves above their ideal share for leaves below theirs.
func (r *preemptionRound) chooseBalance() {
	if r.balance == nil || r.spent() {
		return
	}
	here := r.balanceRound()
	here.choose()
	if here.sets != r.sets {
		r.nodes, r.offers = nil, nil
	}
	r.scans, r.sets, r.guesses = here.scans, here.sets, here.guesses
}
