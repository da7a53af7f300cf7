package ledger

import (
	"cmp"
	"math"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Leases: reserved nodes lend their free room, and no reservation may wait longer because of that
// (S20).

// lease says from which reservation a container has borrowed room. The zero value means that it has
// not borrowed.
type lease struct {
	reservation uint64
	deadline    int64 // 0 means whenever the reservation needs the room
}

func declaredBy(tags []string) int64 {
	millis, err := yarn.DeclaredLifetime(tags)
	if err != nil {
		return 0
	}
	return millis
}

// leases are the containers in the room of reserved nodes. Their records are the containers'.
type leases struct{ *nouns }

// endOf returns the declared latest end of a container; 0 if none is declared.
func (a *app) endOf(allocated int64, am bool) int64 {
	end := int64(math.MaxInt64)
	if a.declared > 0 && !am {
		end = allocated + a.declared
	}
	if a.lifetime > 0 {
		end = min(end, a.submitted+a.lifetime)
	}
	if end == math.MaxInt64 {
		return 0
	}
	return end
}

// borrowed records a container in borrowed room, and checks that its reservation does not wait
// longer because of it (S20).
func (l *leases) borrowed(e *event.ContainerLent) {
	a, n := l.apps.app(e.App), (*node)(nil)
	if found, ok := l.nodes.node(e.Node); ok {
		n = found
	}
	r := l.reservations.reservation(e.Reservation)
	if a == nil || n == nil || r == nil || r.node != e.Node {
		l.violate("S8", nil, "container %d of application %d borrows room of r%d, which does not hold node %d", e.Number,
			e.App, e.Reservation, e.Node)
		return
	}
	id := a.id(a.attempt, e.Number)
	l.Counts.Lent++
	switch k := a.ask(e.Key); {
	case k == nil: // allocated reports it
	case l.queues.list[a.queue].backfill == "":
		l.violate("S20", r.chain(l.nouns), "%s borrows room of r%d, and its queue %s may not", id, r.number,
			l.queues.list[a.queue].path)
	case e.DeadlineMillis == event.NoLease:
		l.takesNothing(r, n, k.size, id)
	case e.AM:
		l.violate("S20", r.chain(l.nouns), "%s, an AM, borrows room that it may have to give back", id)
	case e.DeadlineMillis == 0:
		if l.queues.list[a.queue].backfill != "preemptable" {
			l.violate("S20", r.chain(l.nouns), "%s has declared no end, and its queue %s lends to such containers not", id,
				l.queues.list[a.queue].path)
		}
	default:
		if end, soonest := a.endOf(l.now, false), l.soonest(r, n); end == 0 || end > e.DeadlineMillis ||
			e.DeadlineMillis > soonest {
			l.violate("S20", r.chain(l.nouns),
				"%s declares to end at %d and has room of r%d until %d, which can be fulfilled at %d", id, end, r.number,
				e.DeadlineMillis, soonest)
		}
	}
	l.containers.allocated(&e.ContainerAllocated, e.Reservation)
	if at, ok := a.place(a.attempt, e.Number); ok && e.DeadlineMillis != event.NoLease {
		a.containers[at].lease = lease{e.Reservation, e.DeadlineMillis}
	}
}

// takesNothing checks a container without a lease (S20). Of each kind that the container uses, it
// must leave what the reservation needs.
func (l *leases) takesNothing(r *reservation, n *node, size yarn.Resource, id yarn.ContainerID) {
	left := n.total.Sub(n.used).Sub(size)
	for k := range left {
		if k != yarn.Memory && !l.dominant {
			break
		}
		if size[k] > 0 && left[k] < r.size[k] {
			l.violate("S20", r.chain(l.nouns), "%s of %s takes room that r%d waits for: %s is left of the %s that it needs", id,
				size, r.number, left, r.size)
			return
		}
	}
}

// soonest returns the earliest time at which a reservation can be fulfilled, by the declared ends
// of those containers on its node that have no lease.
func (l *leases) soonest(r *reservation, n *node) int64 {
	type end struct {
		at   int64
		size yarn.Resource
	}
	var ends []end
	room := n.total.Sub(n.used)
	for i := range l.apps.list {
		a := &l.apps.list[i]
		for k := range a.containers {
			c := &a.containers[k]
			switch {
			case !c.onNode || c.node != r.node:
			case !c.live || c.lease != lease{}:
				room = room.Add(c.size)
			case r.grows && r.app == int32(i) && r.container == c.number:
			case l.warnings.warnedFor(a, c) != 0:
				ends = append(ends, end{l.now, c.size})
			default:
				ends = append(ends, end{max(a.endOf(c.since, c.am), l.now), c.size})
			}
		}
	}
	slices.SortFunc(ends, func(x, y end) int { return cmp.Compare(x.at, y.at) })
	if l.fits(r.size, room) {
		return l.now
	}
	for _, e := range ends {
		if room = room.Add(e.size); l.fits(r.size, room) {
			return e.at
		}
	}
	return math.MaxInt64 // the increase of a container that the rest of the node has no room for
}

// recalled records that a container must return its borrowed room, and checks S20.
func (l *leases) recalled(a *app, c *container, e *event.PreemptionAsked) {
	id := a.id(c.attempt, c.number)
	switch {
	case !c.live || c.lease.reservation != e.Reservation || e.Reservation == 0:
		l.violate("S20", a.life(l.nouns, c), "%s is to give back room of r%d that it does not have", id, e.Reservation)
		return
	case l.warnings.warning(e.Container) >= 0:
		l.violate("S20", a.life(l.nouns, c), "%s is asked again to give back its room", id)
		return
	case c.lease.deadline == 0 && e.DeadlineMillis > l.now:
		l.violate("S20", a.life(l.nouns, c), "%s has declared no end, and may stay until %d in room that is needed", id,
			e.DeadlineMillis)
	case e.DeadlineMillis > l.now+l.queues.preemption.WaitMillis:
		l.violate("S20", a.life(l.nouns, c), "%s may stay %d ms in room that is needed, configured are %d", id,
			e.DeadlineMillis-l.now, l.queues.preemption.WaitMillis)
	}
	c.deadlines = append(c.deadlines, e.DeadlineMillis)
	l.warnings.list = append(l.warnings.list,
		warning{app: l.apps.appIndex(e.Container.App), ref: e.Container, reservation: e.Reservation, queue: e.Queue,
			cause: yarn.PreemptLease, deadline: e.DeadlineMillis, index: l.index})
	l.reservations.awaited = append(l.reservations.awaited, e.Reservation)
}

// leaseEnded checks that a container with borrowed room was not ended before its deadline (S20).
func (l *leases) leaseEnded(a *app, c *container, w *warning) {
	if l.now < w.deadline {
		l.violate("S20", w.chain(l.nouns), "%s ends %d ms before it was to give back its room", a.id(c.attempt, c.number),
			w.deadline-l.now)
	}
}

// endLeases ends the leases of a reservation that ends. The containers become ordinary ones.
func (l *leases) endLeases(r *reservation) {
	for i := range l.apps.list {
		for k := range l.apps.list[i].containers {
			if c := &l.apps.list[i].containers[k]; c.lease.reservation == r.number {
				c.lease = lease{}
			}
		}
	}
}

// overdueLeases returns the live containers that have kept borrowed room for more than millis after
// their deadline.
func (l *leases) overdueLeases(millis int64) []Step {
	var out []Step
	for i := range l.apps.list {
		a := &l.apps.list[i]
		for k := range a.containers {
			if c := &a.containers[k]; c.live && c.lease.deadline != 0 && c.lease.deadline+millis < l.now {
				out = append(out, l.step(c.made, "%s may have room of r%d until %d", a.id(c.attempt, c.number), c.lease.reservation,
					c.lease.deadline))
			}
		}
	}
	return out
}
