package planner

import (
	"math"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// preempting returns the preemption warning that response n has for a container; false if it has
// none.
func (p *Planner) preempting(slot state.ContainerSlot, c *state.Container, n int32) (input.Preempting, bool) {
	if !p.st.Preemptions.Has(slot) || p.st.Preemptions.Get(slot).ToldIn != n {
		return input.Preempting{}, false
	}
	return input.Preempting{Container: p.st.Apps.ContainerID(c), Size: c.Size, DeadlineMillis: p.st.Preemptions.Get(slot).DeadlineMillis}, true
}

// unitsOfPreempted sets the total size of the warned containers in a reply, in units of the
// smallest container and rounded up.
func (p *Planner) unitsOfPreempted(r *input.AllocateReply) {
	if len(r.Preempted) == 0 {
		return
	}
	var total yarn.Resource
	for i := range r.Preempted {
		total = total.Add(r.Preempted[i].Size)
	}
	const one = 1 << 32 // 1 in the fixed-point numbers of DivideShare
	r.PreemptedUnit = p.Config().MinAlloc
	r.PreemptedUnits = int32(min((p.Config().Calculator.DivideShare(p.st.Meta.Cluster, total, r.PreemptedUnit)+one-1)/one, math.MaxInt32))
}

// endRecalled ends the containers that must now give back idle room of a reserved node. It reports
// whether there were any.
func (p *Planner) endRecalled() bool {
	recalled := p.sched.TakeRecalled()
	for _, slot := range recalled {
		// The container may have ended meanwhile, or its lease may: then a new warning may stand.
		if p.st.Leases.Has(slot) && p.st.Preemptions.Has(slot) {
			p.ends.KillPreempted(slot)
		}
	}
	return len(recalled) > 0
}

// preemptionRound runs a preemption round: it withdraws warnings, ends the containers whose
// deadline has passed, and warns others.
func (p *Planner) preemptionRound(in *input.PreemptionRound) input.Reply {
	p.sched.EndLeases()
	for _, slot := range p.rounds.Round() {
		if p.st.Preemptions.Has(slot) { // the end of an AM may have withdrawn warnings
			p.ends.KillPreempted(slot)
		}
	}
	return in.NewReply()
}
