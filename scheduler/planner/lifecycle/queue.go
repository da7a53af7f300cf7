package lifecycle

import (
	"rmd/fsm/event"
	"rmd/yarn"
)

// LeftQueue does what is possible after an application has left a leaf: other applications activate,
// non-runnable ones may become runnable, and a draining queue may stop.
func (e Ends) LeftQueue(leaf int32) {
	e.sched.Activate(leaf)
	e.sched.StartNonRunnable()
	e.finishDraining(leaf)
}

// finishDraining stops a draining leaf, and the draining queues above it, after its last
// application has left.
func (e Ends) finishDraining(leaf int32) {
	if e.sched.Queue(leaf).State == yarn.QueueDraining {
		e.StopDrained(leaf)
	}
}

// StopDrained stops queue i, and the queues above it, if they drain and have no applications left.
func (e Ends) StopDrained(i int32) {
	for ; i >= 0; i = int32(e.sched.Config.Queues[i].Parent) {
		if q := e.sched.Queue(i); q.State == yarn.QueueDraining && !e.HoldsApps(q.Path) {
			e.SetQueueState(i, yarn.QueueStopped)
		}
	}
}

// SetQueueState changes the state of queue i, unless it has that state.
func (e Ends) SetQueueState(i int32, to yarn.QueueState) {
	if q := e.sched.Queue(i); q.State != to {
		e.sched.Emit(&event.QueueStateChanged{Path: q.Path, State: to})
	}
}

// HoldsApps reports whether a queue or a queue below it has applications.
func (e Ends) HoldsApps(path string) bool {
	slot := e.st.Queues.Find(path)
	return slot != 0 && e.st.Queues.HoldsApps(slot)
}
