package planner

import (
	"fmt"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// statesFor decides the state of every queue of a new configuration as YARN does when queues are refreshed: a state
// that the configuration states is set; a queue of which it says nothing stays as it is, so that one which an operator
// has stopped is not started by a file that does not speak of it; a new queue begins with its parent's. None runs
// below one that does not: to state that is a fault. The notes name what was stopped before and what becomes of it,
// and what is stopped now.
func (p *Planner) statesFor(cfg *capacity.Config) (states []yarn.QueueState, notes []string, fault *input.Fault) {
	stated := map[string]bool{} // only looked up
	for _, q := range cfg.Properties() {
		stated[q.Name] = true
	}
	states = make([]yarn.QueueState, len(cfg.Queues))
	for i := range cfg.Queues { // parents come first
		q := &cfg.Queues[i]
		key := capacity.Prefix + q.Path + ".state"
		was, known := p.stateOf(q.Path)
		to := q.State
		if known && !stated[key] {
			to = was
		}
		below := q.Parent >= 0 && states[q.Parent] != yarn.QueueRunning
		switch {
		case below && stated[key] && q.State == yarn.QueueRunning:
			parent := cfg.Queues[q.Parent].Path
			fault = input.Faultf(input.InvalidQueues, "nothing was changed", "the queue configuration is invalid")
			fault.Details = []string{fmt.Sprintf("%s: is RUNNING, but its parent %s is STOPPED and stays so, because its own state is not stated; state it too, or: rmd queue start %s", key, parent, parent)}
			return nil, nil, fault
		case below || to != yarn.QueueRunning:
			to = yarn.QueueStopped
		}
		switch {
		case known && was != yarn.QueueRunning && to == yarn.QueueRunning:
			notes = append(notes, fmt.Sprintf("%s is started: it was %s, and the configuration states RUNNING", q.Path, was))
		case known && was != yarn.QueueRunning && !below && !stated[key]:
			notes = append(notes, fmt.Sprintf("%s stays %s: the configuration does not state its state; rmd queue start %s", q.Path, was, q.Path))
		case known && was == yarn.QueueRunning && to != yarn.QueueRunning && !below:
			notes = append(notes, fmt.Sprintf("%s is stopped: it was RUNNING, and the configuration states STOPPED", q.Path))
		}
		if to == yarn.QueueStopped && p.holdsApps(q.Path) {
			to = yarn.QueueDraining
		}
		states[i] = to
	}
	return states, notes, nil
}

// stateOf is the state that a queue is in; unknown when there is none of that path.
func (p *Planner) stateOf(path string) (state yarn.QueueState, known bool) {
	slot := p.st.Queue(path)
	if slot == 0 {
		return 0, false
	}
	return p.st.Queues.Get(slot).State, true
}
