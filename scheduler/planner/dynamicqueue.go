package planner

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
	"rmd/yarn"
)

// dynamicQueues creates, activates and removes dynamic queues.
type dynamicQueues struct {
	sched *scheduler.Scheduler
	st    *state.State
}

// create creates the queues of a destination and returns the index of its leaf.
func (dq dynamicQueues) create(to destination) int {
	for i := range to.create {
		q := &to.create[i]
		dq.sched.Emit(&event.QueueCreated{Path: q.Path, Leaf: q.Leaf, State: yarn.QueueRunning})
		to.leaf = dq.activateNew(len(dq.sched.Config.Queues) - 1)
	}
	if n := len(to.create); n > 0 {
		dq.activateBelow(dq.sched.Queues[len(dq.sched.Queues)-n].Parent)
	}
	return to.leaf
}

// activateBelow looks at the AM limits of all leaves below a queue that has got or lost a child, as YARN
// does: they have changed, and one may have been lifted before.
func (dq dynamicQueues) activateBelow(parent int32) {
	for i := range dq.sched.Queues {
		if leaf := int32(i); len(dq.sched.Queues[i].Pending) > 0 && dq.sched.Holds(parent, leaf) {
			dq.sched.ActivateArrival(leaf)
		}
	}
}

// idleEnd returns when a dynamic queue has been idle for too long.
func (dq dynamicQueues) idleEnd(slot state.QueueSlot, d *state.DynamicQueue) int64 {
	if d.IdleMillis == 0 || !dq.sched.Config.Queues[dq.sched.IndexOf(slot)].AutoRemove {
		return due.Never
	}
	return d.IdleMillis + dq.sched.Config.QueueExpirationMillis
}

func (dq dynamicQueues) idleAt() int64 {
	first := int64(due.Never)
	dq.st.DynamicQueues.Each(func(slot state.QueueSlot, d *state.DynamicQueue) bool {
		first = min(first, dq.idleEnd(slot, d))
		return true
	})
	return first
}

// removeIdle removes idle dynamic queues, as YARN's AutoCreatedQueueDeletionPolicy does. That
// policy removes a queue only in its second run after the expiration time; this method removes it
// as soon as the time is over. The expiration time of a parent begins when its last child is
// removed.
func (dq dynamicQueues) removeIdle(in *input.RemoveIdleQueues) input.Reply {
	e := &event.QueuesRemoved{}
	dq.st.DynamicQueues.Each(func(slot state.QueueSlot, d *state.DynamicQueue) bool {
		if dq.idleEnd(slot, d) <= dq.sched.Now() {
			e.Paths = append(e.Paths, dq.st.Queues.Get(slot).Path)
		}
		return len(e.Paths) < input.MaxQueuesRemoved
	})
	if len(e.Paths) > 0 {
		dq.sched.Emit(e)
	}
	dq.activateBeside(e.Paths)
	return in.NewReply()
}

// activateBeside lets applications become active below the parents of queues that were removed.
func (dq dynamicQueues) activateBeside(removed []string) {
	parents := make([]string, 0, len(removed))
	for _, path := range removed {
		parents = append(parents, yarn.ParentQueue(path))
	}
	slices.Sort(parents)
	for _, path := range slices.Compact(parents) {
		if i, err := dq.sched.Config.Lookup(path); err == nil {
			dq.activateBelow(int32(i))
		}
	}
}
