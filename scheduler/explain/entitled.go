package explain

import (
	"rmd/fsm/state"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// This file explains preemption beyond guarantees: by priority, and for balance.

// balanced returns the ideal share of each queue for balance, or nil if balance is off.
func (v preemptions) balanced(p *entitlement.Partition) []entitlement.Share {
	if !v.cfg.Preemption.Balance {
		return nil
	}
	return p.Entitlements(&v.cfg.Preemption, entitlement.Mode{Balance: true})
}

// balanceText says what balance does for a leaf. gives is what the leaf must give to queues below
// their guarantee. text is the result if balance does nothing.
func (v preemptions) balanceText(q *entitlement.Queue, share *entitlement.Share, gives yarn.Resource,
	text string) string {
	calc, format := v.cfg.Calculator, v.cfg.Kinds.Format
	lacks := yarn.ComponentMin(q.Pending, share.Ideal.Sub(q.Used))
	none := yarn.Resource{}
	switch {
	case calc.AnyAboveZero(gives) || calc.AnyAboveZero(q.Guaranteed.Sub(q.Used)):
	case calc.AnyAboveZero(share.ToTake):
		return "must give " + format(yarn.ComponentMax(share.ToTake, none)) + ": it has more of what is left than its part"
	case !lacks.Negative() && calc.AnyAboveZero(lacks):
		return "has its guarantee; waits for its part of what is left: " + format(lacks) + " more"
	}
	return text
}

// whyNoBalance says why no container is warned for an application whose queue has its guarantee and
// is below its ideal share. It returns "" if balance does nothing for the queue.
func (v preemptions) whyNoBalance(path string, a *state.App, p *entitlement.Partition, ask state.AskSlot) (string,
	*PreemptionDear) {
	if v.cfg.Preemption.Selector == entitlement.YARN || ask == 0 {
		return "", nil
	}
	var part yarn.Resource
	give := false
	for i, share := range v.balanced(p) {
		if q := &p.Queues[i]; v.cfg.Queues[i].Path == path {
			part = share.Ideal.Sub(q.Used)
		} else {
			give = give || q.Leaf && v.cfg.Calculator.AnyAboveZero(share.ToTake)
		}
	}
	size := v.st.Asks.Get(ask).Size
	if !v.cfg.Calculator.AnyAboveZero(part) {
		return "", nil
	}
	text := path + " has its guarantee, and " + v.cfg.Kinds.Format(yarn.ComponentMax(part, yarn.Resource{})) +
		" less than its part of what is left; "
	mode, why := v.preemptionMode()
	switch {
	case mode != PreemptionOn:
		return text + why, nil
	case !v.cfg.Calculator.FitsIn(size, part):
		return text + "nothing is killed: a container of " + v.cfg.Kinds.Format(size) + " would be more than that", nil
	case !give:
		return text + "no other queue must give anything for that", nil
	}
	return v.nextChoice(text, a, ask)
}

// takesByRank reports whether a reservation of an ask has waited long enough to take from queues of
// a lower priority, and such queues exist.
func (v preemptions) takesByRank(path string, p *entitlement.Partition, ask state.AskSlot) bool {
	set := &v.cfg.Preemption
	i, err := v.cfg.Lookup(path)
	return err == nil && set.Selector != entitlement.YARN && ask != 0 && preemption.TakesByRank(v.sched, p, int32(i), ask)
}

// rankedText says why a container was warned for a reservation of a queue of higher priority.
func (v preemptions) rankedText(slot state.ContainerSlot, p *state.Preemption) string {
	text := p.Queue + " has priority over " + v.preemptionContainer(slot).Queue
	if !p.Under.IsZero() {
		text += " and was " + v.cfg.Kinds.Format(p.Under) + " under its guarantee"
	}
	return text
}
