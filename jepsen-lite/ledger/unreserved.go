package ledger

import (
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Preemption without reservations: the selector "yarn" chooses again in each round, and
// applications of one queue take from each other, which does not change what the queue has. For
// both, S18 demands something else: an application or queue that may take the resources must be
// waiting for them.

// loss is a container or a reservation that a leaf lost by preemption on the nodes of a label.
type loss struct {
	leaf        int32
	label       string
	size        yarn.Resource
	reservation bool
}

// auditUnreserved checks a new warning without a reservation against its cause (S18). A queue of a
// higher priority may take whatever a lower one uses, as long as it lacks some of its own
// guarantee. Otherwise the leaf must use too much, and another queue must want something or a
// maximum must have shrunk, or YARN's arithmetic takes for nobody. YARN also frees a reserved node from containers of the reservation's
// own queue.
func (l *warnings) auditUnreserved(a *app, c *container, w *warning) {
	if w.cause == yarn.PreemptQueuePriority {
		l.auditPriority(a, c, w)
		return
	}
	if q := &l.queues.list[a.queue]; q.forbidden.Across || q.path == w.queue && w.cause != yarn.PreemptReservation {
		l.violate("S18", nil, "%s of %s is to end for %s, which may take nothing there", a.id(c.attempt, c.number),
			q.path, w.queue)
	}
	l.usesTooMuch(a, c, "is warned")
	label := l.nodes.list[c.node].label
	if !l.queues.beyondMaximum(a.queue, label) && !l.queues.usesUnguaranteed(a.queue, label) &&
		!slices.ContainsFunc(l.apps.list, func(b app) bool { return b.queue != a.queue && b.hasDemand() }) {
		l.violate("S18", a.life(l.nouns, c), "%s of %s is to end, and no other queue wants anything",
			a.id(c.attempt, c.number), l.queues.list[a.queue].path)
	}
	if from := (leafPartition{a.queue, label}); !slices.Contains(l.takenFrom, from) {
		l.takenFrom = append(l.takenFrom, from)
	}
}

// beyondMaximum reports whether a queue or one of its ancestors used more of a partition than its
// maximum before the round preempted anything. That happens if nodes leave or the maximum is
// lowered.
func (l *queues) beyondMaximum(i int32, label string) bool {
	for ; i >= 0; i = l.list[i].parent {
		used, _ := l.sum(i, label)
		for _, lost := range l.warnings.preemptedNow {
			if lost.label == label && l.isBelow(lost.leaf, i) {
				used = used.Add(lost.size)
			}
		}
		if slices.Contains(l.kindsBelow(l.maximum(i, label, l.nodes.size(label).now), used), true) {
			return true
		}
	}
	return false
}

// usesUnguaranteed reports whether a queue uses a kind of resource of which it is guaranteed nothing.
// YARN compares resources by their dominant shares when it computes what a queue may keep. So it may
// take from such a queue although no other queue wants anything.
func (l *queues) usesUnguaranteed(i int32, label string) bool {
	used, _ := l.sum(i, label)
	for k, keep := range l.guarantee(i, label) {
		if l.dominant && keep == 0 && used[k] > 0 {
			return true
		}
	}
	return false
}

// isBelow reports whether queue i is queue k or below it.
func (l *queues) isBelow(i, k int32) bool {
	for ; i >= 0; i = l.list[i].parent {
		if i == k {
			return true
		}
	}
	return false
}

func (l *warnings) auditPriority(a *app, c *container, w *warning) {
	label, i := l.nodes.list[c.node].label, l.queues.queue(w.queue)
	held := slices.ContainsFunc(l.reservations.list,
		func(r reservation) bool { return r.node == c.node && l.apps.list[r.app].queue == i })
	if i < 0 || !held {
		l.violate("S18", a.life(l.nouns, c), "%s is to end for %s, which holds no reservation on %s",
			a.id(c.attempt, c.number), w.queue, l.nodes.nodeName(c.node))
		return
	}
	used, reserved := l.queues.sum(i, label)
	if !slices.Contains(l.queues.kindsBelow(used.Sub(reserved), l.queues.guarantee(i, label)), true) {
		l.violate("S18", a.life(l.nouns, c),
			"%s is to end for %s, which uses %s and reserves %s: it lacks nothing of its guarantee", a.id(c.attempt, c.number),
			w.queue, used, reserved)
	}
}

// kindsBelow returns for each kind that counts whether a has less of it than b.
func (l *queues) kindsBelow(a, b yarn.Resource) (below []bool) {
	for k := range a {
		if k == yarn.Memory || l.dominant {
			below = append(below, a[k] < b[k])
		}
	}
	return below
}

// usesTooMuch checks that a leaf used more than its guarantee of some kind before the entry
// preempted anything from it (S18).
func (l *warnings) usesTooMuch(a *app, c *container, what string) {
	label := l.nodes.list[c.node].label
	used, _ := l.queues.sum(a.queue, label)
	for _, lost := range l.lossesOf(a.queue, label) {
		used = used.Add(lost)
	}
	if keep := l.queues.guarantee(a.queue, label); !slices.Contains(l.queues.kindsBelow(keep, used), true) {
		l.violate("S18", a.life(l.nouns, c), "%s %s, and %s uses %s, not more than the %s that it is guaranteed%s",
			a.id(c.attempt, c.number), what, l.queues.list[a.queue].path, used, keep, ofPartition(label))
	}
}

// onlyByGuarantee reports whether preemption takes only from leaves that use too much. With more
// causes, a container may end for another cause than that of its warning.
func (l *queues) onlyByGuarantee() bool { return !l.preemption.Inside && !l.preemption.ByPriority }

// endOfChoice checks the choice of a round at the first event that does not belong to it (S18). A
// leaf whose containers were warned without reservations must lose what it uses too much, and less
// than one container more.
func (l *warnings) endOfChoice(next event.Event) {
	switch next.(type) {
	case *event.PreemptionAsked, *event.PreemptionWithdrawn:
		return
	}
	from := l.takenFrom
	l.takenFrom = l.takenFrom[:0]
	if !l.queues.onlyByGuarantee() {
		return
	}
	for _, from := range from {
		used, _ := l.queues.sum(from.leaf, from.label)
		keep, left := l.queues.guarantee(from.leaf, from.label), used.Sub(l.warnedOf(from.leaf, from.label))
		all := l.lossesOf(from.leaf, from.label)
		for _, w := range l.list {
			all = append(all, l.sizesOf([]warning{w}, from.leaf, from.label))
		}
		needed := func(size yarn.Resource) bool { // in addition to all others
			return !size.IsZero() && slices.Contains(l.queues.kindsBelow(keep, left.Add(size)), true)
		}
		if !slices.ContainsFunc(all, needed) {
			l.violate("S18", nil,
				"%s uses %s of the %s that it is guaranteed%s, %s when all has ended that was warned: any of them could stay",
				l.queues.list[from.leaf].path, used, keep, ofPartition(from.label), left)
		}
	}
}

// lossesOf returns what the round preempted from a leaf.
func (l *warnings) lossesOf(leaf int32, label string) (sizes []yarn.Resource) {
	for _, lost := range l.preemptedNow {
		if lost.leaf == leaf && lost.label == label {
			sizes = append(sizes, lost.size)
		}
	}
	return sizes
}

// auditInside checks a new warning inside a queue (S18). Another application of the queue must want
// something, and must have a higher priority or another user. The container must not be an AM.
func (l *warnings) auditInside(a *app, c *container, w *warning) {
	id, q := a.id(c.attempt, c.number), &l.queues.list[a.queue]
	if !l.queues.preemption.Inside || q.forbidden.Across || q.forbidden.Inside || q.path != w.queue || c.am {
		l.violate("S18", a.life(l.nouns, c), "%s of %s (AM: %v) is to end for %s for cause %s: nothing is to be taken so", id,
			q.path, c.am, w.queue, w.cause)
		return
	}
	gains := func(b app) bool {
		if b.seq == a.seq || b.queue != a.queue || !b.hasDemand() {
			return false
		}
		return b.priority() > a.priority() || b.user != a.user
	}
	if !slices.ContainsFunc(l.apps.list, gains) {
		l.violate("S18", a.life(l.nouns, c), "%s of %s is to end for cause %s, and no application of the queue may take it",
			id, q.path, w.cause)
	}
}

func (a *app) priority() int32 { return a.priorities[len(a.priorities)-1].Priority }

// hasDemand reports whether an application asks for containers or increases, has reservations, or
// waits for its AM to register.
func (a *app) hasDemand() bool {
	return a.stage == active || a.holds > 0 || slices.ContainsFunc(a.asks, func(k ask) bool { return k.count > 0 }) ||
		slices.ContainsFunc(a.containers, func(c container) bool { return c.live && !c.more.IsZero() })
}
