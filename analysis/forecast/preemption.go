package forecast

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// The time between two rounds of preemption of a run is at least this part of the time since the run began:
// the smaller one while containers are warned. So the first minutes have nearly as many rounds as a leader
// runs, and a week has few, and what a round decides comes late by no more than these parts.
const (
	partOfTime       = 2
	partWhileWarning = 16
)

// runRound runs a round of preemption, as the leader would, if there is anything that rounds end.
func (r *run) runRound() {
	r.Now = r.nextRound
	set, st := &r.Config().Preemption, r.State()
	if set.Enabled || st.Leases.Len() > 0 {
		r.plan(&input.PreemptionRound{}, event.ContainerRef{})
	}
	part := int64(partOfTime)
	if st.Preemptions.Len() > 0 {
		part = partWhileWarning
	}
	r.nextRound = r.Now + max(set.IntervalMillis, (r.Now-r.base.Now)/part)
}

// preempted handles the end of a container that was preempted. Its AM asks for it again, unless it never
// received it: then it is asked for already.
func (r *run) preempted(c *change.Change) {
	if r.after = c.Ref; c.Restored || c.AM {
		return
	}
	st := r.State()
	label := st.Labels.Name(st.Nodes.Get(c.Node).Label)
	if !c.Left { // otherwise nobody knows any more which label it was asked for
		label = st.AskedLabelOf(yarn.ContainerID{App: st.Apps.Get(c.App).ID, Attempt: c.Ref.Attempt, Number: c.Ref.Number})
	}
	r.lost = append(r.lost, lostContainer{c.App, c.Ref.Attempt,
		input.Ask{Key: c.Key, Name: yarn.Any, Size: c.Size, Relax: true, Label: label}})
}

// lostContainer is a preempted container for which its AM will ask again.
type lostContainer struct {
	app     state.AppSlot
	attempt uint32
	ask     input.Ask
}

// fetchLost returns the next input of an AM that asks again for a container, or nil.
func (r *run) fetchLost() input.Input {
	st := r.State()
	for len(r.lost) > 0 {
		last := r.lost[len(r.lost)-1]
		r.lost = r.lost[:len(r.lost)-1]
		a := st.Apps.Get(last.app)
		if a.Attempt != last.attempt || a.AttemptState != state.AttemptRegistered {
			continue // the next attempt asks by itself
		}
		last.ask.Count = 1
		if k := st.Asks.Find(a, last.ask.Key); k != 0 {
			last.ask.Count += st.Asks.Get(k).Count
			last.ask.Relax = st.Asks.Get(k).Relax
		}
		return &input.Allocate{Attempt: a.AttemptID(), Response: a.Response, Asks: []input.Ask{last.ask}}
	}
	return nil
}
