package ledger

import (
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Containers that change their size. An asked increase is not in the application's asks; the
// container has it.

func (l *containers) resizeAsked(e *event.ContainerResizeAsked) {
	a, c := l.container(e.Container, "to be resized")
	if c == nil {
		return
	}
	id := a.id(c.attempt, c.number)
	more := e.Size.Sub(c.size)
	switch {
	case !c.live:
		l.violate("S10", a.life(l.nouns, c), "%s is to be resized after its end", id)
		return
	case a.stage != active && a.stage != registered:
		l.violate(Audit, a.chain(l.nouns), "%s is to be resized by an attempt that is %s", id, a.stage)
	case more.Negative():
		l.violate(Audit, a.life(l.nouns, c), "%s of %s is to grow to %s", id, c.size, e.Size)
		return
	}
	c.more = more
	l.reservations.changed(a)
}

// growing returns a container with an asked increase. If there is none, it returns nil and records
// a violation.
func (l *containers) growing(ref event.ContainerRef, what string) (*app, *container, *node) {
	a, c := l.container(ref, what)
	if c == nil {
		return nil, nil, nil
	}
	if id := a.id(c.attempt, c.number); !c.live {
		l.violate("S10", a.life(l.nouns, c), "%s is %s after its end", id, what)
		return nil, nil, nil
	} else if c.more == zero {
		l.violate(Audit, a.life(l.nouns, c), "%s is %s and nothing is asked for it", id, what)
		return nil, nil, nil
	}
	return a, c, &l.nodes.list[c.node]
}

// increased checks and records an increase. Like an allocation, it needs room on the node (S7, S8).
func (l *containers) increased(e *event.ContainerIncreased) {
	a, c, n := l.growing(e.Container, "increased")
	if c == nil {
		return
	}
	l.Counts.Decisions++
	id := a.id(c.attempt, c.number)
	if n.reservation != 0 {
		l.violate("S8", l.reservations.reservation(n.reservation).chain(l.nouns), "container %s grows on %s, which r%d holds",
			id, n.id, n.reservation)
	}
	if slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack) {
		l.violate(Audit, nil, "%s grows on %s, which its application refuses", id, n.id)
	}
	more := c.more
	l.nodes.lend(c, n)
	l.grow(a, c, n)
	l.queues.charge(a, n, more, zero)
}

// grow gives a container its increase. The caller charges the queue.
func (l *containers) grow(a *app, c *container, n *node) {
	id := a.id(c.attempt, c.number)
	l.nodes.auditHeard(n, "the increase of "+id.String())
	if room := n.total.Sub(n.used); !l.fits(c.more, room) {
		l.violate("S7", l.nodes.newestOn(n), "%s grows by %s on %s, which has %s free of %s", id, c.more, n.id, room, n.total)
	}
	if !n.state.Usable() {
		l.violate(Audit, nil, "%s grows on %s, which is %s", id, n.id, n.state)
	}
	n.used, c.size = n.used.Add(c.more), c.size.Add(c.more)
	c.more = zero
	c.version++
}

func (l *containers) decreased(e *event.ContainerDecreased) {
	a, c := l.container(e.Container, "decreased")
	if c == nil {
		return
	}
	id := a.id(c.attempt, c.number)
	switch {
	case !c.live:
		l.violate("S10", a.life(l.nouns, c), "%s is decreased after its end", id)
		return
	case e.Size.Negative() || !e.Size.Within(c.size):
		l.violate(Audit, a.life(l.nouns, c), "%s of %s is decreased to %s", id, c.size, e.Size)
		return
	}
	n, by := &l.nodes.list[c.node], e.Size.Sub(c.size)
	n.used, c.size = n.used.Add(by), e.Size
	c.more = zero
	c.version++
	l.reservations.changed(a)
	l.queues.charge(a, n, by, zero)
}

// sizeTold checks that a node received only the newest version of a container's size.
func (l *containers) sizeTold(e *event.ResizeAcked) {
	if a, c := l.container(e.Container, "told of to its node"); c != nil && e.Version != c.version {
		l.violate(Audit, a.life(l.nouns, c), "the node of %s was told version %d, it is of version %d",
			a.id(c.attempt, c.number), e.Version, c.version)
	}
}

// reservedToGrow records a reservation for the increase of a container on the same node.
func (l *containers) reservedToGrow(e *event.ResizeReserved) {
	a, c, n := l.growing(e.Container, "waited for")
	if c == nil {
		return
	}
	l.Counts.Reservations++
	if n.reservation != 0 {
		l.violate("S8", l.reservations.reservation(n.reservation).chain(l.nouns), "node %s is held by r%d and by r%d", n.id,
			n.reservation, e.Reservation)
		return
	}
	if e.Reservation <= l.reservations.last {
		l.violate("S6", nil, "reservation r%d is made after r%d", e.Reservation, l.reservations.last)
		return
	}
	l.reservations.auditReservation(a, &ask{size: c.more}, c.node, e.Reservation)
	l.reservations.last = e.Reservation
	l.reservations.list = append(l.reservations.list,
		reservation{number: e.Reservation, app: l.apps.appIndex(e.Container.App), node: c.node, attempt: c.attempt,
			container: c.number, key: c.key, size: c.more, am: c.am, made: l.index, since: l.now, grows: true})
	l.nodes.lend(c, n)
	n.reservation = e.Reservation
	a.holds++
	l.queues.charge(a, n, c.more, c.more)
}

// fulfilledGrowth records a fulfilled reservation for an increase.
func (l *containers) fulfilledGrowth(r *reservation) {
	a, c, n := l.growing(event.ContainerRef{App: l.apps.list[r.app].seq, Attempt: r.attempt, Number: r.container},
		"increased")
	if c == nil {
		return
	}
	l.Counts.Decisions++
	if c.more != r.size {
		l.violate("S8", r.chain(l.nouns), "r%d of %s is fulfilled, %s is asked", r.number, r.size, c.more)
	}
	l.grow(a, c, n)
	l.queues.fulfil(a, n, r.size)
}

// reservedAsk returns the ask that a reservation serves; nil if there is none any more. For an
// increase it returns an ask of its own.
func (l *containers) reservedAsk(r *reservation) *ask {
	a := &l.apps.list[r.app]
	if !r.grows {
		return a.ask(r.key)
	}
	if at, ok := a.place(r.attempt, r.container); ok && a.containers[at].more != zero {
		return &ask{size: a.containers[at].more, count: 1}
	}
	return nil
}

// growthOver checks that no reservation remains for the increase of a container that ends (S8).
func (l *containers) growthOver(a *app, c *container) {
	if c.more == zero && a.holds == 0 {
		return
	}
	c.more = yarn.Resource{}
	for i := range l.reservations.list {
		if r := &l.reservations.list[i]; r.grows && l.apps.list[r.app].seq == a.seq && r.attempt == c.attempt &&
			r.container == c.number {
			l.violate("S8", r.chain(l.nouns), "%s ends and r%d goes on holding %s for it to grow", a.id(c.attempt, c.number),
				r.number, l.nodes.nodeName(r.node))
		}
	}
}
