package ledger

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Preemption for what queues are owed beyond their guarantees: reservations of queues of a higher
// priority, and what queues share that all have their guarantee.

// readPriority reads the priority of a queue among those below the same one. Where the order there does
// not look at priorities all have the same.
func (l *Ledger) readPriority(q *queue, properties []event.Property) {
	q.priority = 0
	if q.parent < 0 || propertyOf(properties, "yarn.scheduler.capacity."+l.queues[q.parent].path+".ordering-policy") != "priority-utilization" {
		return
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(propertyOf(properties, "yarn.scheduler.capacity."+q.path+".priority")), 10, 32)
	q.priority = int32(n)
}

// pathTo are the queues from the root down to one.
func (l *Ledger) pathTo(i int32) (path []int32) {
	for ; i >= 0; i = l.queues[i].parent {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

// outranks says whether a queue has priority over another, where the ways to them part.
func (l *Ledger) outranks(i, j int32) bool {
	a, b := l.pathTo(i), l.pathTo(j)
	for k := range min(len(a), len(b)) {
		if a[k] != b[k] {
			return l.queues[a[k]].priority > l.queues[b[k]].priority
		}
	}
	return false
}

// auditRanked holds a warning for a reservation of a queue of higher priority to what that entitles to:
// S18. The reservation has waited, the queue lacks something of its guarantee, and neither an AM nor a
// queue that gives nothing loses anything.
func (l *Ledger) auditRanked(a *app, c *container, w *warning) {
	id, r, i := a.id(c.attempt, c.number), l.reservation(w.reservation), l.queue(w.queue)
	if l.keepsRank(a, c, w, "is to end"); r == nil || i < 0 {
		return
	}
	switch moved := r.made == l.index; {
	case !l.preemption.byPriority:
		l.violate("S18", nil, "%s is to end for the priority of %s, which entitles to nothing", id, w.queue)
	case moved && !l.preemption.moves:
		l.violate("S18", r.chain(l), "%s is to end for r%d, which moved for that", id, r.number)
	case !moved && l.now-r.since < l.preemption.delayMillis:
		l.violate("S18", r.chain(l), "%s is to end for r%d, which has waited for %d ms", id, r.number, l.now-r.since)
	}
	label := l.nodes[c.node].label
	used, reserved := l.sum(i, label)
	if !slices.Contains(l.kindsBelow(used.Sub(reserved), l.guarantee(i, label)), true) {
		l.violate("S18", a.life(l, c), "%s is to end for %s, which uses %s and reserves %s: it lacks nothing of its guarantee", id, w.queue, used, reserved)
	}
}

// keepsRank holds that a container ends for a queue that has priority over its own: S18.
func (l *Ledger) keepsRank(a *app, c *container, w *warning, what string) {
	q, i := &l.queues[a.queue], l.queue(w.queue)
	if i < 0 || c.am || q.disabled || !l.outranks(i, a.queue) {
		l.violate("S18", w.chain(l), "%s of %s (AM: %v) %s for the priority of %s, which may take nothing there", a.id(c.attempt, c.number), q.path, c.am, what, w.queue)
	}
}

// auditBalance holds a warning for balance to what it serves: a queue does not take from one beside it that
// has less of its guarantee than itself, by all kinds that decide. S18.
func (l *Ledger) auditBalance(a *app, c *container, w *warning) {
	id, label, i := a.id(c.attempt, c.number), l.nodes[c.node].label, l.queue(w.queue)
	if !l.preemption.balance {
		l.violate("S18", nil, "%s is to end to balance %s, and nothing is to be balanced", id, w.queue)
	}
	if i < 0 || l.queues[i].parent != l.queues[a.queue].parent || l.queues[i].priority != l.queues[a.queue].priority || l.beyondMaximum(a.queue, label) {
		return
	}
	gains, _ := l.sum(i, label)
	loses, _ := l.sum(a.queue, label)
	mine, its := l.guarantee(i, label), l.guarantee(a.queue, label)
	for k := range gains {
		if (k == yarn.Memory || l.dominant) && gains[k]*its[k] <= loses[k]*mine[k] {
			return
		}
	}
	l.violate("S18", a.life(l, c), "%s is to end to balance %s, which uses %s of %s, and %s uses %s of %s", id, w.queue, gains, mine, l.queues[a.queue].path, loses, its)
}
