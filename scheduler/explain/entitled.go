package explain

import (
	"rmd/scheduler/entitlement"
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
