package preemption

import (
	"slices"

	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// balancing distributes the rest among leaves when all have their guarantee. Package preempt
// computes the ideal share of each leaf as YARN does. It does so when a round first needs one: with
// many queues this takes as long as the rest of the round, and most rounds need none.
type balancing struct {
	partition    *entitlement.Partition // as of the beginning of the round
	set          *entitlement.Settings
	shares       []entitlement.Share
	gained, lost []yarn.Resource // by leaf: what the round has chosen for it, and from it
}

// newBalancing returns a copy of the queues at the beginning of a round, or nil if balance is off.
func newBalancing(queues *entitlement.Partition, set *entitlement.Settings) *balancing {
	if !set.Balance {
		return nil
	}
	found := *queues
	found.Queues = slices.Clone(queues.Queues)
	n := len(found.Queues)
	return &balancing{partition: &found, set: set, gained: make([]yarn.Resource, n), lost: make([]yarn.Resource, n)}
}

// share returns the ideal share of a leaf.
func (b *balancing) share(leaf int32) *entitlement.Share {
	if b.shares == nil {
		b.shares = b.partition.Entitlements(b.set, entitlement.Mode{Balance: true})
	}
	return &b.shares[leaf]
}

// gain returns what a leaf may still get.
func (b *balancing) gain(leaf int32) yarn.Resource {
	return b.share(leaf).Ideal.Sub(b.partition.Queues[leaf].Used).Sub(b.gained[leaf])
}

// take returns what a leaf must still give.
func (b *balancing) take(leaf int32) yarn.Resource { return b.share(leaf).ToTake.Sub(b.lost[leaf]) }

// mayLose reports whether a leaf still has its ideal share after a loss. lost is what the round has
// already chosen from it. With conservative-drf, the leaf must keep its ideal share of each
// resource that it loses.
func (b *balancing) mayLose(leaf int32, lost, loses yarn.Resource, conservative bool) bool {
	left, ideal := b.partition.Queues[leaf].Used.Sub(lost).Sub(loses), b.share(leaf).Ideal
	if conservative {
		for i := range b.partition.Calculator.Kinds {
			if loses[i] > 0 && left[i] < ideal[i] {
				return false
			}
		}
	}
	return b.partition.Calculator.Compare(b.partition.Total, left, ideal) >= 0
}

// balanceRound returns a copy of the round that chooses for balance.
func (r *round) balanceRound() *round {
	here := *r
	here.balances, here.nodes, here.offers, here.kill, here.guess = true, nil, nil, nil, waitLeft{}
	return &here
}

// judgeBalance judges the standing sets for balance, after all other sets.
func (r *round) judgeBalance() {
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
func (r *round) hasten(set standingSet) bool {
	w := r.s.State.Preemptions.Get(set.victims[0])
	res := r.reservationOf(&set)
	leaf := r.s.LeafOfReservation(res)
	if w.DeadlineMillis <= r.now+r.set.MaxWaitMillis || !r.mayGain(leaf, res.Size) || r.judgeSet(&set) != 0 {
		return false
	}
	again := victimSet{victims: r.victimsOf(set.victims), cost: w.Cost, compared: w.Sets}
	for _, v := range again.victims {
		if !r.gives(v.leaf) {
			return false
		}
	}
	r.sched.WithdrawFor(res, yarn.WithdrawNotChosen)
	r.countReserved(leaf, res.Size)
	r.warn(beneficiary{leaf: leaf, app: res.App}, &again, res.Number, yarn.PreemptGuarantee)
	return true
}

// chooseBalance chooses containers of leaves above their ideal share for leaves below theirs.
func (r *round) chooseBalance() {
	if r.balance == nil || r.spent() {
		return
	}
	here := r.balanceRound()
	here.choose()
	here.forgetNodes()
	if here.sets != r.sets {
		r.forgetNodes()
	}
	r.scans, r.sets, r.guesses = here.scans, here.sets, here.guesses
}
