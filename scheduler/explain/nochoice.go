package explain

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/internal/thousands"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// This file says why rounds of preemption choose nothing for an application.

// whyNoPreemption says why no container is warned for an application that waits for room. If its
// queue has its guarantee, it returns the result of whyNoBalance.
func (v preemptions) whyNoPreemption(path string, a *state.App) (string, *PreemptionDear) {
	var label state.LabelSlot
	ask := v.firstAsk(a)
	if ask != 0 {
		label = v.st.Asks.Get(ask).Label
	}
	partition := preemption.PartitionOf(v.Views, label)
	shares := partition.Entitlements(&v.cfg.Preemption, entitlement.Mode{Reserved: true})
	calc := v.cfg.Calculator
	var under yarn.Resource
	var over, open, give bool // some queue is above its guarantee; one of these is not protected; one of these must give
	for i := range partition.Queues {
		q := &partition.Queues[i]
		switch {
		case !q.Leaf:
		case v.cfg.Queues[i].Path == path:
			under = underGuarantee(partition, q)
		case calc.AnyAboveZero(q.Used.Sub(q.Guaranteed)):
			over, open = true, open || !q.Disabled
			give = give || calc.AnyAboveZero(shares[i].ToTake)
		}
	}
	if !calc.AnyAboveZero(under) {
		return v.whyNoBalance(path, a, partition, ask)
	}
	text := fmt.Sprintf("%s is %s under its guarantee; ", path, v.cfg.Kinds.Format(under))
	mode, why := v.preemptionMode()
	switch {
	case mode != PreemptionOn:
		return text + why, nil
	case v.takesByRank(path, partition, ask):
	case !over:
		return text + "no other queue uses more than its own", nil
	case !open:
		return text + "disable_preemption protects all queues that use more than their own", nil
	case !give:
		return text + "no other queue is over its own by more than max_ignored_over_capacity", nil
	}
	return v.nextChoice(text, a, ask)
}

// nextChoice says what the next rounds do for an ask if other queues must give.
func (v preemptions) nextChoice(text string, a *state.App, ask state.AskSlot) (string, *PreemptionDear) {
	if ask != 0 && v.cfg.Preemption.Selector != entitlement.YARN {
		k := v.st.Asks.Get(ask)
		if key := v.sched.ReservationLimit(a, k, 1); key != "" && k.Reservations == 0 {
			return text + "nothing is killed: " + key + " allows no reservation that would get the room", nil
		}
		if dear, ok := preemption.CostTooHigh(v.sched, v.st.Apps.ByID(a.ID), ask); ok {
			return text + v.dearText(&dear, k.Size), v.dear(&dear)
		}
	}
	return text + "other queues must give, and the next rounds choose containers if some free enough on one node that " +
		"no other reservation holds", nil
}

// dearText says that no set is warned because all sets lose too much work.
func (v preemptions) dearText(d *preemption.UnaffordableSet, size yarn.Resource) string {
	text := fmt.Sprintf("nothing is killed: the cheapest choice (%s on %s) would lose as much work as a container of %s does in %s, and may lose that of %s (preemption.max-lost-work-ms), after a wait of %s ",
		thousands.Count(len(d.Containers), "container"), v.st.Nodes.Get(d.Node).ID, v.cfg.Kinds.Format(size),
		span(d.LostMillis), span(d.MostMillis), span(d.WaitedMillis))
	if d.LeftMillis >= 0 {
		text += fmt.Sprintf("and with room expected in %s; ", span(d.LeftMillis))
	} else {
		text += "and with no room expected otherwise; "
	}
	if d.EndsMillis == 0 {
		return text +
			"what runs there grows dearer as fast as the wait, so containers that end by themselves, or younger ones, must make room"
	}
	return text + fmt.Sprintf("if nothing else changes, a wait of %s is worth a choice",
		span(d.WaitedMillis+d.EndsMillis-v.st.Meta.NowMillis))
}

func (v preemptions) dear(d *preemption.UnaffordableSet) *PreemptionDear {
	out := &PreemptionDear{Node: v.st.Nodes.Get(d.Node).ID.String(), LostMillis: d.LostMillis, MostMillis: d.MostMillis,
		WaitedMillis: d.WaitedMillis, LeftMillis: d.LeftMillis, EndsMillis: d.EndsMillis}
	for _, slot := range d.Containers {
		out.Containers = append(out.Containers, v.st.Apps.ContainerID(v.st.Containers.Get(slot)).String())
	}
	return out
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
