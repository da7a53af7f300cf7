package ledger

import (
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Containers that change their size. What one is to grow by is no ask of the
// application's list: it stands with the container.

func (m *Model) resizeAsked(e *event.ContainerResizeAsked) {
	a, c := m.container(e.Container, "to be resized")
	if c == nil {
		return
	}
	id := a.id(c.attempt, c.number)
	more := e.Size.Sub(c.size)
	switch {
	case !c.live:
		m.bad("S10", a.life(m, c), "%s is to be resized after its end", id)
		return
	case a.stage != active && a.stage != registered:
		m.bad(Audit, a.chain(m), "%s is to be resized by an attempt that is %s", id, a.stage)
	case more.Negative():
		m.bad(Audit, a.life(m, c), "%s of %s is to grow to %s", id, c.size, e.Size)
		return
	}
	c.more = more
	m.changed(a)
}

// growing finds what a container is to grow by; nil, and a violation, when that is
// nothing.
func (m *Model) growing(ref event.ContainerRef, what string) (*app, *container, *node) {
	a, c := m.container(ref, what)
	if c == nil {
		return nil, nil, nil
	}
	if id := a.id(c.attempt, c.number); !c.live {
		m.bad("S10", a.life(m, c), "%s is %s after its end", id, what)
		return nil, nil, nil
	} else if c.more == none1 {
		m.bad(Audit, a.life(m, c), "%s is %s and nothing is asked for it", id, what)
		return nil, nil, nil
	}
	return a, c, &m.nodes[c.node]
}

// increased holds growth against the node, as an allocation is: S7, S8.
func (m *Model) increased(e *event.ContainerIncreased) {
	a, c, n := m.growing(e.Container, "increased")
	if c == nil {
		return
	}
	m.Counts.Decisions++
	id := a.id(c.attempt, c.number)
	if n.reservation != 0 {
		m.bad("S8", m.reservation(n.reservation).chain(m), "container %s grows on %s, which r%d holds", id, n.id, n.reservation)
	}
	if slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack) {
		m.bad(Audit, nil, "%s grows on %s, which its application refuses", id, n.id)
	}
	more := c.more
	m.grow(a, c, n)
	m.charge(a, more, none1)
}

// grow gives a container what it was to grow by; its queue is the caller's.
func (m *Model) grow(a *app, c *container, n *node) {
	id := a.id(c.attempt, c.number)
	if room := n.total.Sub(n.used); !m.fits(c.more, room) {
		m.bad("S7", m.onNode(n), "%s grows by %s on %s, which has %s free of %s", id, c.more, n.id, room, n.total)
	}
	if !n.state.Usable() {
		m.bad(Audit, nil, "%s grows on %s, which is %s", id, n.id, n.state)
	}
	n.used, c.size = n.used.Add(c.more), c.size.Add(c.more)
	c.more = none1
	c.version++
}

func (m *Model) decreased(e *event.ContainerDecreased) {
	a, c := m.container(e.Container, "decreased")
	if c == nil {
		return
	}
	id := a.id(c.attempt, c.number)
	switch {
	case !c.live:
		m.bad("S10", a.life(m, c), "%s is decreased after its end", id)
		return
	case e.Size.Negative() || !e.Size.Within(c.size):
		m.bad(Audit, a.life(m, c), "%s of %s is decreased to %s", id, c.size, e.Size)
		return
	}
	n, by := &m.nodes[c.node], e.Size.Sub(c.size)
	n.used, c.size = n.used.Add(by), e.Size
	c.more = none1
	c.version++
	m.changed(a)
	m.charge(a, by, none1)
}

// sizeTold: a node is told of no version but the newest.
func (m *Model) sizeTold(e *event.ContainerSizeTold) {
	if a, c := m.container(e.Container, "told of to its node"); c != nil && e.Version != c.version {
		m.bad(Audit, a.life(m, c), "the node of %s was told version %d, it is of version %d", a.id(c.attempt, c.number), e.Version, c.version)
	}
}

// reservedToGrow holds a node for a container that stands there.
func (m *Model) reservedToGrow(e *event.ResizeReserved) {
	a, c, n := m.growing(e.Container, "waited for")
	if c == nil {
		return
	}
	m.Counts.Reservations++
	if n.reservation != 0 {
		m.bad("S8", m.reservation(n.reservation).chain(m), "node %s is held by r%d and by r%d", n.id, n.reservation, e.Reservation)
		return
	}
	if e.Reservation <= m.lastReserved {
		m.bad("S6", nil, "reservation r%d is made after r%d", e.Reservation, m.lastReserved)
		return
	}
	m.auditReservation(a, &ask{size: c.more}, n, e.Reservation)
	m.lastReserved = e.Reservation
	m.reservations = append(m.reservations, reservation{number: e.Reservation, app: m.find(e.Container.App), node: c.node, attempt: c.attempt,
		container: c.number, key: c.key, size: c.more, am: c.am, made: m.index, grows: true})
	n.reservation = e.Reservation
	a.holds++
	m.charge(a, c.more, c.more)
}

// fulfilledGrowth: what was held makes its container larger.
func (m *Model) fulfilledGrowth(r *reservation) {
	a, c, n := m.growing(event.ContainerRef{App: m.apps[r.app].seq, Attempt: r.attempt, Number: r.container}, "increased")
	if c == nil {
		return
	}
	m.Counts.Decisions++
	if c.more != r.size {
		m.bad("S8", r.chain(m), "r%d of %s is fulfilled, %s is asked", r.number, r.size, c.more)
	}
	m.grow(a, c, n)
	m.charge(a, none1, none1.Sub(r.size))
}

// wanted is what a reservation's container is to grow by, as an ask; nil when it
// is to grow no more.
func (m *Model) wanted(r *reservation) *ask {
	a := &m.apps[r.app]
	if !r.grows {
		return a.ask(r.key)
	}
	if at, ok := a.place(r.attempt, r.container); ok && a.containers[at].more != none1 {
		return &ask{size: a.containers[at].more, count: 1}
	}
	return nil
}

// growthOver holds that nothing is held for a container that ends: S8.
func (m *Model) growthOver(a *app, c *container) {
	if c.more == none1 && a.holds == 0 {
		return
	}
	c.more = yarn.Resource{}
	for i := range m.reservations {
		if r := &m.reservations[i]; r.grows && m.apps[r.app].seq == a.seq && r.attempt == c.attempt && r.container == c.number {
			m.bad("S8", r.chain(m), "%s ends and r%d goes on holding %s for it to grow", a.id(c.attempt, c.number), r.number, m.nodeName(r.node))
		}
	}
}
