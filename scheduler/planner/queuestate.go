package planner

import (
	"fmt"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// statesFor returns the state of each queue under a new configuration, as YARN sets it when queues
// are refreshed. If the configuration sets the state of a queue, that state counts. Otherwise an
// existing queue keeps its state, so that a file without states does not start a queue that an
// operator has stopped. A new queue has the state of its parent. A queue cannot run below one that
// does not run; a configuration that sets this is a fault. The notes name the queues that were
// stopped, with what becomes of them, and those that are now stopped.
func (qs *queues) statesFor(cfg *capacity.Config) (states []yarn.QueueState, notes []string, fault *input.Refusal) {
	stated := map[string]bool{} // looked up by key only
	for _, q := range cfg.Properties() {
		stated[q.Name] = true
	}
	states = make([]yarn.QueueState, len(cfg.Queues))
	for i := range cfg.Queues { // parents come first
		q := &cfg.Queues[i]
		key := capacity.Prefix + q.Path + ".state"
		was, known := qs.stateOf(q.Path)
		to := q.State
		if known && !stated[key] {
			to = was
		}
		below := q.Parent >= 0 && states[q.Parent] != yarn.QueueRunning
		switch {
		case below && stated[key] && q.State == yarn.QueueRunning:
			parent := cfg.Queues[q.Parent].Path
			fault = input.Refusef(input.InvalidQueues, "nothing was changed", "the queue configuration is invalid")
			fault.Details = []string{
				fmt.Sprintf("%s: is RUNNING, but its parent %s is STOPPED and stays so, because its own state is not stated; state it too, or: rmd queue start %s", key, parent, parent)}
			return nil, nil, fault
		case below || to != yarn.QueueRunning:
			to = yarn.QueueStopped
		}
		switch {
		case known && was != yarn.QueueRunning && to == yarn.QueueRunning:
			notes = append(notes, fmt.Sprintf("%s is started: it was %s, and the configuration states RUNNING", q.Path, was))
		case known && was != yarn.QueueRunning && !below && !stated[key]:
			notes = append(notes, fmt.Sprintf("%s stays %s: the configuration does not state its state; rmd queue start %s",
				q.Path, was, q.Path))
		case known && was == yarn.QueueRunning && to != yarn.QueueRunning && !below:
			notes = append(notes, fmt.Sprintf("%s is stopped: it was RUNNING, and the configuration states STOPPED", q.Path))
		}
		if to == yarn.QueueStopped && qs.ends.HoldsApps(q.Path) {
			to = yarn.QueueDraining
		}
		states[i] = to
	}
	return states, notes, nil
}

// stateOf returns the state of a queue. known is false if there is no queue with the path.
func (qs *queues) stateOf(path string) (state yarn.QueueState, known bool) {
	slot := qs.st.Queues.Find(path)
	if slot == 0 {
		return 0, false
	}
	return qs.st.Queues.Get(slot).State, true
}
