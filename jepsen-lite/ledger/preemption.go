package ledger

import (
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Preemption: containers are warned for a reservation, and end at their deadlines.

// warning is a standing warning.
type warning struct {
	app         int32
	ref         event.ContainerRef
	reservation uint64
	queue       string // the queue that gains
	cause       yarn.PreemptionCause
	deadline    int64
	index       uint64
}

// lease reports whether the container must return borrowed room of a reserved node.
func (w *warning) lease() bool { return w.cause == yarn.PreemptLease }

// withinQueue reports whether the warning is for another application of the same queue.
func (w *warning) withinQueue() bool {
	return w.cause == yarn.PreemptUserLimit || w.cause == yarn.PreemptPriority
}

// spared records the withdrawal of a warning that was not needed any more: the state's time, the
// reservation, and whether the warning was for balance, which has its own deadline.
type spared struct {
	millis      int64
	reservation uint64
	balance     bool
}

// warnings are the warnings of preemption that stand.
type warnings struct {
	*nouns
	list         []warning       // in order
	withdrawn    []warning       // withdrawn in the entry
	preemptedNow []loss          // what leaves lost in the round, which is of one time
	takenFrom    []leafPartition // leaves from which a selector without reservations chooses
}

func (l *warnings) warned(e *event.PreemptionAsked) {
	a, c := l.containers.container(e.Container, "warned")
	if c == nil {
		return
	}
	if e.Cause == yarn.PreemptLease {
		l.leases.recalled(a, c, e)
		return
	}
	l.Counts.Warned++
	l.nodes.auditHeard(&l.nodes.list[c.node], "room for "+e.Queue)
	wait := l.queues.preemption.WaitMillis
	if e.Cause == yarn.PreemptBalance {
		wait = l.queues.preemption.BalanceMillis
	}
	id := a.id(c.attempt, c.number)
	w := warning{app: l.apps.appIndex(e.Container.App), ref: e.Container, reservation: e.Reservation, queue: e.Queue,
		cause: e.Cause, deadline: e.DeadlineMillis, index: l.index}
	switch {
	case !c.live:
		l.violate("S17", a.life(l.nouns, c), "%s is warned after its end", id)
		return
	case l.warning(e.Container) >= 0:
		l.violate("S17", l.list[l.warning(e.Container)].chain(l.nouns), "%s is warned again, until %d", id, e.DeadlineMillis)
		return
	case !l.queues.preemption.On:
		l.violate("S17", nil, "%s is warned while nothing is to be preempted", id)
	case e.DeadlineMillis < l.now+wait:
		l.violate("S17", nil, "%s has %d ms from its warning to its end, configured are %d", id, e.DeadlineMillis-l.now, wait)
	case c.spared == (spared{l.now, e.Reservation, e.Cause == yarn.PreemptBalance}):
		l.violate("S17", nil, "the time of %s starts again: its warning for r%d was withdrawn, and is given again at once",
			id, e.Reservation)
	}
	c.deadlines = append(c.deadlines, e.DeadlineMillis)
	l.list, l.reservations.awaited = append(l.list, w), append(l.reservations.awaited, w.reservation)
	l.auditWarning(a, c, &w)
}

// auditWarning checks that a new warning is for a valid reservation or queue, and takes from a
// container that may be preempted for it (S18).
func (l *warnings) auditWarning(a *app, c *container, w *warning) {
	id := a.id(c.attempt, c.number)
	if r := l.reservations.reservation(w.reservation); w.reservation != 0 || l.queues.preemption.Reserves {
		switch {
		case r == nil:
			l.violate("S18", nil, "%s is to make room for r%d, which is not held", id, w.reservation)
		case r.node != c.node:
			l.violate("S18", r.chain(l.nouns), "%s on %s is to make room for r%d, which holds %s", id, l.nodes.nodeName(c.node),
				r.number, l.nodes.nodeName(r.node))
		case l.queues.list[l.apps.list[r.app].queue].path != w.queue:
			l.violate("S18", r.chain(l.nouns), "%s is to make room for r%d in the name of %s, it is of %s", id, r.number,
				w.queue, l.queues.list[l.apps.list[r.app].queue].path)
		}
	}
	if w.withinQueue() {
		l.auditInside(a, c, w)
		return
	}
	if !l.queues.preemption.Reserves {
		l.auditUnreserved(a, c, w)
		return
	}
	switch w.cause {
	case yarn.PreemptQueuePriority:
		l.auditRanked(a, c, w)
		return
	case yarn.PreemptBalance:
		l.auditBalance(a, c, w)
	}
	if q := &l.queues.list[a.queue]; q.forbidden.Across || q.path == w.queue {
		l.violate("S18", nil, "%s of %s is to end for %s, which may take nothing there", id, q.path, w.queue)
	}
	l.aboveGuarantee(a, c, l.list, zero, "is warned")
}

// aboveGuarantee checks that a queue keeps its guarantee after all its warned containers have
// ended: S18. Warnings inside the queue do not count. The queue may have made the reservations of the
// size made after the decision about the container, or in place of others of that size.
func (l *warnings) aboveGuarantee(a *app, c *container, warnings []warning, made yarn.Resource, what string) {
	label := l.nodes.list[c.node].label
	keep := l.queues.guarantee(a.queue, label)
	used, _ := l.queues.sum(a.queue, label)
	between, held := l.betweenQueues(warnings, a.queue, label)
	used = used.Sub(held)
	for _, lost := range l.preemptedNow { // a queue of a higher priority may take reservations below the guarantee
		if l.queues.preemption.ByPriority && lost.reservation && lost.leaf == a.queue && lost.label == label {
			used = used.Add(lost.size)
		}
	}
	loses := l.sizesOf(between, a.queue, label)
	if !l.mayLose(used, loses, keep) && !l.mayLose(used.Sub(made), loses, keep) {
		l.violate("S18", a.life(l.nouns, c),
			"%s %s, and %s uses %s of the %s that it is guaranteed%s, %s when all has ended that was warned",
			a.id(c.attempt, c.number), what, l.queues.list[a.queue].path, used, keep, ofPartition(label), used.Sub(loses))
	}
}

// mayLose reports whether a queue may lose some of what it uses, and keeps its guarantee. If it uses
// more than its guarantee of one resource, it may lose some of another resource of which it uses less.
func (l *warnings) mayLose(used, loses, keep yarn.Resource) bool {
	tooMuch := false
	for k := range used {
		if k != yarn.Memory && !l.dominant {
			break
		}
		if used[k] >= keep[k] && used[k]-loses[k] < keep[k] {
			return false
		}
		tooMuch = tooMuch || used[k] > keep[k]
	}
	return tooMuch
}

// betweenQueues returns the warnings that are not inside a queue. held is what the queue has
// reserved for warnings inside a queue and for balance, because these reservations do not count
// towards its guarantee. Those of the same entry come too late for that: its round counted before it
// gave them.
func (l *warnings) betweenQueues(warnings []warning, i int32, label string) (between []warning, held yarn.Resource) {
	var counted []uint64
	for _, w := range warnings {
		if !w.withinQueue() {
			between = append(between, w)
			if w.cause != yarn.PreemptBalance {
				continue
			}
		}
		r := l.reservations.reservation(w.reservation)
		if r != nil && w.index < l.index && l.apps.list[r.app].queue == i && l.nodes.list[r.node].label == label &&
			!slices.Contains(counted, w.reservation) {
			counted, held = append(counted, w.reservation), held.Add(r.size)
		}
	}
	return between, held
}

// warnedOf returns the size of the warned containers of a queue and its descendants on nodes of a
// label. It does not count containers that must return borrowed room.
func (l *warnings) warnedOf(i int32, label string) yarn.Resource {
	return l.sizesOf(l.list, i, label)
}

func (l *warnings) sizesOf(list []warning, i int32, label string) (sum yarn.Resource) {
	for k := range list {
		a := &l.apps.list[list[k].app]
		at, _ := a.place(list[k].ref.Attempt, list[k].ref.Number)
		if c := &a.containers[at]; !list[k].lease() && l.queues.isBelow(a.queue, i) && l.nodes.list[c.node].label == label {
			sum = sum.Add(c.size)
		}
	}
	return sum
}

func (l *warnings) warningWithdrawn(e *event.PreemptionWithdrawn) {
	a, c := l.containers.container(e.Container, "taken a warning from")
	if c == nil {
		return
	}
	l.Counts.Withdrawn++
	i := l.warning(e.Container)
	if i < 0 || !e.Cause.Known() {
		l.violate("S17", a.life(l.nouns, c), "the warning of %s is withdrawn for cause %d, it stands: %v",
			a.id(c.attempt, c.number), e.Cause, i >= 0)
		return
	}
	if e.Cause == yarn.WithdrawNotChosen {
		c.spared = spared{l.now, l.list[i].reservation, l.list[i].cause == yarn.PreemptBalance}
	}
	l.withdrawn = append(l.withdrawn, l.list[i])
	l.list = slices.Delete(l.list, i, i+1)
}

// endWarning checks the end of a live container by its exit status, and removes its warning.
func (l *warnings) endWarning(a *app, c *container, exit int32) {
	ref := event.ContainerRef{App: a.seq, Attempt: c.attempt, Number: c.number}
	i := -1
	if len(c.deadlines) > 0 {
		i = l.warning(ref)
	}
	if exit == yarn.ExitPreempted {
		l.preempted(a, c, i)
	}
	if i >= 0 {
		l.list = slices.Delete(l.list, i, i+1)
	}
}

// preempted checks that a container may be preempted: S17 and S18.
func (l *warnings) preempted(a *app, c *container, at int) {
	l.Counts.Preempted++
	id := a.id(c.attempt, c.number)
	if at < 0 {
		l.violate("S17", a.life(l.nouns, c), "%s is preempted without a warning", id)
		return
	}
	w := &l.list[at]
	switch {
	case w.lease():
		l.leases.leaseEnded(a, c, w)
		return
	case !l.queues.preemption.On:
		l.violate("S17", w.chain(l.nouns), "%s is preempted while nothing is to be preempted", id)
	case l.now < w.deadline:
		l.violate("S17", w.chain(l.nouns), "%s is preempted %d ms before its deadline", id, w.deadline-l.now)
	}
	if w.reservation != 0 {
		l.auditRoom(w, id)
	}
	switch {
	case l.queues.preemption.Reserves && w.cause == yarn.PreemptQueuePriority:
		l.keepsRank(a, c, w, "is preempted")
	case l.queues.preemption.Reserves && !w.withinQueue():
		// these may take below the guarantee later
		ranked := func(w warning) bool { return w.cause == yarn.PreemptQueuePriority }
		made := l.reservations.madeInRound(a.queue, l.nodes.list[c.node].label)
		l.aboveGuarantee(a, c, slices.DeleteFunc(slices.Clone(l.list), ranked), made, "is preempted")
	case !l.queues.preemption.Reserves && l.queues.onlyByGuarantee():
		l.usesTooMuch(a, c, "is preempted")
	}
	l.preemptedNow = append(l.preemptedNow, loss{a.queue, l.nodes.list[c.node].label, c.size, false})
}

// auditRoom checks that a reservation has room on its node after the end of all containers that
// were warned for it, that are ending, or that have borrowed its room: S18.
func (l *warnings) auditRoom(w *warning, id yarn.ContainerID) {
	r := l.reservations.reservation(w.reservation)
	if r == nil {
		l.violate("S18", w.chain(l.nouns), "%s is preempted for r%d, which is not held", id, w.reservation)
		return
	}
	room := l.roomAfter(r.node, func(a *app, c *container) bool {
		return !c.live || c.lease != (lease{}) || l.warnedFor(a, c) == r.number
	})
	if !l.fits(r.size, room) {
		l.violate("S18", append(r.chain(l.nouns), w.chain(l.nouns)...),
			"%s is preempted for r%d of %s, which makes room for no more than %s", id, r.number, r.size, room)
	}
}

// roomAfter returns what is free on a node after the containers have ended that ends selects.
func (l *warnings) roomAfter(node yarn.NodeSlot, ends func(*app, *container) bool) yarn.Resource {
	room := l.nodes.list[node].total.Sub(l.nodes.list[node].used)
	for i := range l.apps.list {
		a := &l.apps.list[i]
		for k := range a.containers {
			if c := &a.containers[k]; c.onNode && c.node == node && ends(a, c) {
				room = room.Add(c.size)
			}
		}
	}
	return room
}

// warnedFor returns the reservation for which a container is warned; 0 if it is not warned.
func (l *warnings) warnedFor(a *app, c *container) uint64 {
	if len(c.deadlines) == 0 {
		return 0
	}
	if i := l.warning(event.ContainerRef{App: a.seq, Attempt: c.attempt, Number: c.number}); i >= 0 {
		return l.list[i].reservation
	}
	return 0
}

// warning returns the index of a container's standing warning, or -1.
func (l *warnings) warning(ref event.ContainerRef) int {
	return slices.IndexFunc(l.list, func(w warning) bool { return w.ref == ref })
}

// noWarningsFor checks that no warning remains after the end of its reservation: S18.
func (l *warnings) noWarningsFor(r *reservation, what string) {
	for i := range l.list {
		if w := &l.list[i]; w.reservation == r.number {
			l.violate("S18", append(r.chain(l.nouns), w.chain(l.nouns)...), "r%d is %s, and %s is still to end for it", r.number,
				what, w.name(l.nouns))
		}
	}
}

// noWarningsOf checks that there is no warning of an application that moves to another queue, nor
// for one of its reservations, because the move changes entitlements: S18.
func (l *warnings) noWarningsOf(app int32) {
	for i := range l.list {
		w := &l.list[i]
		if r := l.reservations.reservation(w.reservation); w.lease() {
			continue
		} else if w.app == app || r != nil && r.app == app {
			l.violate("S18", w.chain(l.nouns), "application %d moves to another queue, and %s is still to end",
				l.apps.list[app].seq, w.name(l.nouns))
		}
	}
}

// balanceWarnings checks at the end of an entry what holds only then: there are no warnings while
// preemption is off (S17), and no reservations of full nodes without warnings (audit).
func (l *warnings) balanceWarnings() {
	if i := slices.IndexFunc(l.list, func(w warning) bool { return !w.lease() }); l.queues.configured &&
		!l.queues.preemption.On && i >= 0 {
		l.violate("S17", l.list[i].chain(l.nouns), "preemption is switched off, and %s is still to end",
			l.list[i].name(l.nouns))
	}
	for _, f := range l.reservations.full {
		if !slices.Contains(l.reservations.awaited, f.number) {
			l.violations = append(l.violations, f.violation)
		}
	}
}

// fullNode is a reservation of a node that has no room even for the smallest container, or that takes
// what is kept for others, and the violation that it is unless containers are warned for it in the same
// entry. A container that takes what is kept has the number 0.
type fullNode struct {
	number    uint64
	violation Violation
}

func (w *warning) name(l *nouns) string {
	return l.apps.list[w.app].id(w.ref.Attempt, w.ref.Number).String()
}

func (w *warning) chain(l *nouns) []Step {
	return []Step{l.step(w.index, "%s is warned until %d for r%d of %s", w.name(l), w.deadline, w.reservation, w.queue)}
}

// Warning is a standing warning.
type Warning struct {
	Reservation    uint64
	Queue          string
	DeadlineMillis int64
}

// Warning returns the warning of a container; false if none stands.
func (l *Ledger) Warning(ref event.ContainerRef) (Warning, bool) {
	i := l.warnings.warning(ref)
	if i < 0 {
		return Warning{}, false
	}
	w := &l.warnings.list[i]
	return Warning{w.reservation, w.queue, w.deadline}, true
}

// Warnings counts the standing warnings.
func (l *Ledger) Warnings() int { return len(l.warnings.list) }

// Warned counts the warnings of a container with this deadline. There can be several, because a
// warning may be withdrawn and given again.
func (l *Ledger) Warned(id yarn.ContainerID, deadlineMillis int64) (n int) {
	i := l.apps.findID(id.App)
	if i < 0 {
		return 0
	}
	a := &l.apps.list[i]
	at, ok := a.place(id.Attempt, id.Number)
	if !ok {
		return 0
	}
	for _, d := range a.containers[at].deadlines {
		if d == deadlineMillis {
			n++
		}
	}
	return n
}

// Overdue returns the warnings whose deadline passed more than millis ago, and the containers that
// have kept borrowed room for that long after their deadline (L6).
func (l *Ledger) Overdue(millis int64) []Step {
	var out []Step
	for i := range l.warnings.list {
		if w := &l.warnings.list[i]; w.deadline+millis < l.now {
			out = append(out, w.chain(l.nouns)...)
		}
	}
	return append(out, l.leases.overdueLeases(millis)...)
}
