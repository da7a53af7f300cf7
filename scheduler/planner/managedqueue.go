package planner

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/yarn"
)

// A parent with auto-create-child-queue is a managed parent. As many of its leaves as fit into its
// capacity are active: they have the capacity of the leaf template. The others have no guarantee
// and use what other queues leave idle.
//
// Source: Hadoop 3.4.2, GuaranteedOrZeroCapacityOverTimePolicy. YARN runs it only if
// QueueManagementDynamicEditPolicy is among the monitors; rmd always does.

// belowManaged reports whether the parent of a path is a managed parent.
func (p *Planner) belowManaged(path string) bool {
	i, err := p.Config().Lookup(yarn.ParentQueue(path))
	return err == nil && p.Config().Queues[i].ChildrenBy() == capacity.Legacy
}

// newManaged returns the destination of an application in a leaf that must be created below a
// managed parent. Only a placement rule may choose such a leaf.
func (p *Planner) newManaged(name string, create []yarn.DynamicQueue, err error, placed placement.Result) (destination, *input.Fault) {
	switch {
	case placed.Queue == "" && err != nil:
		return destination{}, input.Faultf(input.NoSuchQueue, "see \"rmd queue list\"", "there is no queue %q", name)
	case placed.Queue == "":
		return destination{}, notMapped(name)
	case err != nil:
		return destination{}, input.Faultf(input.QueueNotCreated, "see \"rmd queue list\", and auto-create-child-queue of the queue above", "%v", err)
	}
	queues := p.Config().Candidates(create)
	return destination{create: queues, queue: &queues[0], placed: placed}, nil
}

func notMapped(name string) *input.Fault {
	return input.Faultf(input.QueueNotMapped, "add a rule to queue-mappings that leads there, and name no queue",
		"queue %s is below a parent with auto-create-child-queue, and no placement rule leads to it", name)
}

// activateNew activates the leaf that was just created, if its managed parent has room, and returns
// its index.
func (p *Planner) activateNew(i int) int {
	q := &p.Config().Queues[i]
	if q.Creation != capacity.Legacy {
		return i
	}
	if above := &p.Config().Queues[q.Parent]; p.Config().ActiveBelow(above) < above.AutoCreate.Room {
		path := q.Path
		p.sched.Emit(&event.QueuesActivated{Active: []string{path}})
		i, _ = p.Config().Lookup(path) // the event replaced the configuration
	}
	return i
}

// manageQueues activates and deactivates leaves. Like YARN, it skips parents with
// fail-on-exceeding-parent-capacity.
func (p *Planner) manageQueues(in *input.ManageQueues) input.Reply {
	p.manage(func(q *capacity.Queue) bool { return !q.AutoCreate.FailBeyond }, false)
	return in.NewReply()
}

// manageAfresh decides again for all managed parents after a change of the configuration, without
// preferring the leaves that are active.
func (p *Planner) manageAfresh() {
	p.manage(func(*capacity.Queue) bool { return true }, true)
}

// manage activates and deactivates the leaves of the parents that which selects.
func (p *Planner) manage(which func(*capacity.Queue) bool, afresh bool) {
	if p.st.DynamicQueues.Len() == 0 {
		return
	}
	e := &event.QueuesActivated{}
	var oldest map[state.QueueSlot]uint32
	for i := range p.Config().Queues {
		q := &p.Config().Queues[i]
		if q.ChildrenBy() != capacity.Legacy || len(q.Children) == 0 || !which(q) {
			continue
		}
		if oldest == nil {
			oldest = p.oldestApps()
		}
		p.manageBelow(q, afresh, oldest, e)
	}
	if len(e.Active)+len(e.Inactive) > 0 {
		p.sched.Emit(e)
	}
}

// oldestApps returns the sequence number of the oldest application that has not ended, by the slot
// of its queue. It is never iterated.
func (p *Planner) oldestApps() map[state.QueueSlot]uint32 {
	oldest := map[state.QueueSlot]uint32{}
	p.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if first, ok := oldest[a.Queue]; !a.State.Ended() && (!ok || a.ID.Seq < first) {
			oldest[a.Queue] = a.ID.Seq
		}
		return true
	})
	return oldest
}

// manageBelow adds to e what changes below a managed parent. Active leaves without applications are
// deactivated. Leaves with applications are activated while there is room, in the order of their
// oldest applications. With afresh, active leaves compete with the others; without it, they stay
// active.
func (p *Planner) manageBelow(parent *capacity.Queue, afresh bool, oldest map[state.QueueSlot]uint32, e *event.QueuesActivated) {
	type leaf struct {
		path   string
		first  uint32
		active bool
	}
	var waiting []leaf
	room := parent.AutoCreate.Room
	for _, k := range parent.Children {
		q := &p.Config().Queues[k]
		first, used := oldest[p.st.Queues.Find(q.Path)]
		switch {
		case used && q.Active && !afresh:
			room--
		case used:
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
