package planner

import (
	"cmp"
	"math"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
)

// A parent with auto-create-child-queue is a managed parent. As many of its leaves as fit into its
// capacity are active: they have the capacity of the leaf template. The others have no guarantee
// and use what other queues leave idle.
//
// Source: Hadoop 3.4.2, GuaranteedOrZeroCapacityOverTimePolicy. YARN runs it only if
// QueueManagementDynamicEditPolicy is among the monitors; rmd always does.

// activateNew activates the leaf that was just created, if its managed parent has room, and returns
// its index.
func (dq dynamicQueues) activateNew(i int) int {
	q := &dq.sched.Config.Queues[i]
	if q.Creation != capacity.Legacy {
		return i
	}
	if above := &dq.sched.Config.Queues[q.Parent]; dq.sched.Config.ActiveBelow(above) < above.AutoCreate.Room {
		path := q.Path
		dq.sched.Emit(&event.QueuesActivated{Active: []string{path}})
		i, _ = dq.sched.Config.Lookup(path) // the event replaced the configuration
	}
	return i
}

// manage activates and deactivates leaves. Like YARN, it skips parents with
// fail-on-exceeding-parent-capacity.
func (dq dynamicQueues) manage(in *input.ManageQueues) input.Reply {
	dq.manageWhere(func(q *capacity.Queue) bool { return !q.AutoCreate.FailBeyond }, false)
	return in.NewReply()
}

// manageAfresh decides again for all managed parents after a change of the configuration, without
// preferring the leaves that are active.
func (dq dynamicQueues) manageAfresh() {
	dq.manageWhere(func(*capacity.Queue) bool { return true }, true)
}

// manageWhere activates and deactivates the leaves of the parents that which selects.
func (dq dynamicQueues) manageWhere(which func(*capacity.Queue) bool, afresh bool) {
	if dq.st.DynamicQueues.Len() == 0 {
		return
	}
	e := &event.QueuesActivated{}
	var oldest map[state.QueueSlot]uint32
	for i := range dq.sched.Config.Queues {
		q := &dq.sched.Config.Queues[i]
		if q.ChildrenBy() != capacity.Legacy || len(q.Children) == 0 || !which(q) {
			continue
		}
		if oldest == nil {
			oldest = dq.oldestApps()
		}
		dq.manageBelow(q, afresh, oldest, e)
	}
	if len(e.Active)+len(e.Inactive) > 0 {
		dq.sched.Emit(e)
	}
}

// parked is the sequence number of applications that exceed a limit of parallel ones. They keep an
// active leaf active, but do not make one active.
const parked = math.MaxUint32

// oldestApps returns the sequence number of the oldest application that has not ended, by the slot
// of its queue. It is never iterated.
func (dq dynamicQueues) oldestApps() map[state.QueueSlot]uint32 {
	oldest := map[state.QueueSlot]uint32{}
	dq.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		seq := a.ID.Seq
		if a.AttemptState == state.AttemptNonRunnable {
			seq = parked
		}
		if first, ok := oldest[a.Queue]; !a.State.Ended() && (!ok || seq < first) {
			oldest[a.Queue] = seq
		}
		return true
	})
	return oldest
}

// manageBelow adds to e what changes below a managed parent. Active leaves without applications are
// deactivated. Leaves with applications are activated while there is room, in the order of their
// oldest applications. With afresh, active leaves compete with the others; without it, they stay
// active.
func (dq dynamicQueues) manageBelow(parent *capacity.Queue, afresh bool, oldest map[state.QueueSlot]uint32,
	e *event.QueuesActivated) {
	type leaf struct {
		path   string
		first  uint32
		active bool
	}
	var waiting []leaf
	room := parent.AutoCreate.Room
	for _, k := range parent.Children {
		q := &dq.sched.Config.Queues[k]
		first, used := oldest[dq.st.Queues.Find(q.Path)]
		switch {
		case used && q.Active && !afresh:
			room--
		case used && first != parked:
			waiting = append(waiting, leaf{q.Path, first, q.Active})
		case q.Active:
			e.Inactive = append(e.Inactive, q.Path)
		}
	}
	slices.SortFunc(waiting, func(a, b leaf) int { return cmp.Compare(a.first, b.first) })
	for i, l := range waiting {
		switch gets := int64(i) < room; {
		case gets && !l.active:
			e.Active = append(e.Active, l.path)
		case !gets && l.active:
			e.Inactive = append(e.Inactive, l.path)
		}
	}
}
