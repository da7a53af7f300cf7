package planner

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// preempted is what YARN says of a container that it preempts.
const preempted = "Container preempted by scheduler"

// killPreempted ends a warned container. An AM's attempt ends with it, and does not count against its
// application. A container of which its AM does not know yet gives back what it was asked by.
func (p *Planner) killPreempted(slot uint32) {
	c := p.st.Containers.Get(slot)
	ref, live := p.st.Ref(c), c.State.Live()
	switch {
	case !live:
	case c.AM:
		p.stopContainer(slot, yarn.ExitPreempted, preempted)
		p.amEnded(ref, yarn.ExitPreempted, preempted, "")
	case c.State == yarn.ContainerAllocated && !c.Launched:
		p.complete(ref, yarn.ExitPreempted, preempted)
	default:
		p.stopContainer(slot, yarn.ExitPreempted, preempted)
	}
}

// preempting is the warning of a container that response n tells its AM; false when that tells none.
func (p *Planner) preempting(slot uint32, c *state.Container, n int32) (input.Preempting, bool) {
	if !p.st.Preemptions.Has(slot) || p.st.Preemptions.Get(slot).ToldIn != n {
		return input.Preempting{}, false
	}
	return input.Preempting{Container: p.st.ContainerID(c), Size: c.Size, DeadlineMillis: p.st.Preemptions.Get(slot).DeadlineMillis}, true
}

// unitsOfPreempted says how many of the smallest containers the warned ones amount to, rounded up.
func (p *Planner) unitsOfPreempted(r *input.AllocateReply) {
	if len(r.Preempted) == 0 {
		return
	}
	var total yarn.Resource
	for i := range r.Preempted {
		total = total.Add(r.Preempted[i].Size)
	}
	const one = 1 << 32 // in the parts of DivideShare
	r.PreemptedUnit = p.Config().MinAlloc
	r.PreemptedUnits = int32(min((p.Config().Calculator.DivideShare(p.st.Meta.Cluster, total, r.PreemptedUnit)+one-1)/one, math.MaxInt32))
}

// endRecalled ends the containers that must give back now what they have borrowed of a reserved node. It
// says whether there were any.
func (p *Planner) endRecalled() bool {
	recalled := p.sched.TakeRecalled()
	for _, slot := range recalled {
		if p.st.Preemptions.Has(slot) { // it may have ended, or the reservation
			p.killPreempted(slot)
		}
	}
	return len(recalled) > 0
}

// preemptionRound judges the warnings that stand, ends the containers whose deadline has passed, and
// warns others.
func (p *Planner) preemptionRound(in *input.PreemptionRound) input.Reply {
	if p.st.Meta.Level >= event.LevelPreemption {
		p.sched.EndLeases()
		for _, slot := range p.sched.PreemptionRound() {
			if p.st.Preemptions.Has(slot) { // an AM may have ended with those whose room was for it
				p.killPreempted(slot)
			}
		}
	}
	return in.NewReply()
}
