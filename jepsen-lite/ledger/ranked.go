package ledger

import (
	"slices"

	"rmd/yarn"
)

// Preemption beyond guarantees: for reservations of queues with a higher priority, and for balance
// among queues that all have their guarantee.

// pathTo returns the queues from the root to i.
func (l *queues) pathTo(i int32) (path []int32) {
	for ; i >= 0; i = l.list[i].parent {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

// outranks reports whether queue i has priority over queue j. It compares the ancestors of both
// just below their closest common ancestor.
func (l *queues) outranks(i, j int32) bool {
	a, b := l.pathTo(i), l.pathTo(j)
	for k := range min(len(a), len(b)) {
		if a[k] != b[k] {
			return l.list[a[k]].priority > l.list[b[k]].priority
		}
	}
	return false
}

// auditRanked checks a warning for a reservation of a queue with a higher priority (S18). The
// reservation must have waited, the queue must lack some of its guarantee, and the container must
// not be an AM or of a queue with preemption disabled.
func (l *warnings) auditRanked(a *app, c *container, w *warning) {
	id, r, i := a.id(c.attempt, c.number), l.reservations.reservation(w.reservation), l.queues.queue(w.queue)
	if l.keepsRank(a, c, w, "is to end"); r == nil || i < 0 {
		return
	}
	switch moved := r.made == l.index; {
	case !l.queues.preemption.ByPriority:
		l.violate("S18", nil, "%s is to end for the priority of %s, which entitles to nothing", id, w.queue)
	case moved && !l.queues.preemption.Moves:
		l.violate("S18", r.chain(l.nouns), "%s is to end for r%d, which moved for that", id, r.number)
	case !moved && l.now-r.since < l.queues.preemption.DelayMillis:
		l.violate("S18", r.chain(l.nouns), "%s is to end for r%d, which has waited for %d ms", id, r.number, l.now-r.since)
	}
	label := l.nodes.list[c.node].label
	used, reserved := l.queues.sum(i, label)
	if !slices.Contains(l.queues.kindsBelow(used.Sub(reserved), l.queues.guarantee(i, label)), true) {
		l.violate("S18", a.life(l.nouns, c),
			"%s is to end for %s, which uses %s and reserves %s: it lacks nothing of its guarantee", id, w.queue, used, reserved)
	}
}

// keepsRank checks that a container ends for a queue that has priority over its own (S18).
func (l *warnings) keepsRank(a *app, c *container, w *warning, what string) {
	q, i := &l.queues.list[a.queue], l.queues.queue(w.queue)
	if i < 0 || c.am || q.forbidden.Across || !l.queues.outranks(i, a.queue) {
		l.violate("S18", w.chain(l.nouns), "%s of %s (AM: %v) %s for the priority of %s, which may take nothing there",
			a.id(c.attempt, c.number), q.path, c.am, what, w.queue)
	}
}

// auditBalance checks a warning for balance (S18): a queue must not take from a sibling that has
// less of its guarantee, by all kinds that count.
func (l *warnings) auditBalance(a *app, c *container, w *warning) {
	id, label, i := a.id(c.attempt, c.number), l.nodes.list[c.node].label, l.queues.queue(w.queue)
	if !l.queues.preemption.Balance {
		l.violate("S18", nil, "%s is to end to balance %s, and nothing is to be balanced", id, w.queue)
	}
	if i < 0 || l.queues.list[i].parent != l.queues.list[a.queue].parent ||
		l.queues.list[i].priority != l.queues.list[a.queue].priority || l.queues.beyondMaximum(a.queue, label) {
		return
	}
	gains, _ := l.queues.sum(i, label)
	loses, _ := l.queues.sum(a.queue, label)
	mine, its := l.queues.guarantee(i, label), l.queues.guarantee(a.queue, label)
	for k := range gains {
		if (k == yarn.Memory || l.dominant) && gains[k]*its[k] <= loses[k]*mine[k] {
			return
		}
	}
	l.violate("S18", a.life(l.nouns, c), "%s is to end to balance %s, which uses %s of %s, and %s uses %s of %s", id,
		w.queue, gains, mine, l.queues.list[a.queue].path, loses, its)
}
