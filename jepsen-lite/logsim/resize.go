package logsim

import (
	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Containers that change their size: how AMs and nodes go about it, and what the
// books make of it.

// updates asks now and then for a container to grow or to shrink, by the version
// that the AM knows of it.
func (m *master) updates() []input.Update {
	if len(m.held) == 0 || m.w.rng.IntN(6) > 0 {
		return nil
	}
	h := m.held[m.w.rng.IntN(len(m.held))]
	u := input.Update{Container: h.id, Version: h.version, Type: input.IncreaseResource, Size: m.w.size(8)}
	if m.w.rng.IntN(3) == 0 {
		u.Type = input.DecreaseResource
	}
	return []input.Update{u}
}

// resized takes in that a container has another size. Mostly the AM has its node
// give it that when it is larger.
func (m *master) resized(z input.Resized) {
	for i := range m.held {
		h := &m.held[i]
		if h.id != z.Container || z.Version <= h.version {
			continue
		}
		h.version = z.Version
		if z.Change == yarn.SizeIncreased && m.w.rng.IntN(3) > 0 {
			m.w.agentOf(z.Node.Host).grow(z.Container, z.Size)
		}
	}
}

// grow gives a container that runs another size, of which the node tells.
func (a *agent) grow(id yarn.ContainerID, size yarn.Resource) {
	if a.find(id) >= 0 {
		a.sizes = append(a.sizes, input.ContainerSize{Container: id, Size: size})
	}
}

// followResize enters what becomes of a container's size: no node gives more than
// it has, and no queue forgets what it gave.
func (b *books) followResize(e event.Event) *violation {
	switch e := e.(type) {
	case *event.ContainerResizeAsked:
		c := b.containers[e.Container]
		if c == nil || !c.live || !c.size.Within(e.Size) {
			return against("S10", "%+v of a container that does not live, or is larger", e)
		}
		c.more = e.Size.Sub(c.size)
	case *event.ContainerIncreased:
		c := b.containers[e.Container]
		if c == nil || !c.live {
			return against("S10", "%+v of a container that does not live", e)
		}
		if n := b.nodes[c.node]; n.reservation != 0 {
			return against("S8", "%+v on %s, which r%d holds", e, n.id, n.reservation)
		}
		return b.grows(b.apps[e.Container.App], c, true)
	case *event.ContainerDecreased:
		c := b.containers[e.Container]
		if c == nil || !c.live || !e.Size.Within(c.size) {
			return against("S10", "%+v of a container that does not live, or is smaller", e)
		}
		by, n := e.Size.Sub(c.size), b.nodes[c.node]
		n.used, c.size, c.more = n.used.Add(by), e.Size, yarn.Resource{}
		return b.charge(b.apps[e.Container.App].queue, by)
	case *event.ResizeReserved:
		return b.heldToGrow(e)
	}
	return nil
}

// grows gives a container what was asked for it; charged says that its queue is yet
// to count it.
func (b *books) grows(a *appBook, c *containerBook, charged bool) *violation {
	n, more := b.nodes[c.node], c.more
	if more == (yarn.Resource{}) || !b.fits(more, n.total.Sub(n.used)) {
		return against("S7", "%s more is given on %s, which has %s of %s", more, n.id, n.total.Sub(n.used), n.total)
	}
	n.used, c.size, c.more, c.held = n.used.Add(more), c.size.Add(more), yarn.Resource{}, yarn.Resource{}
	if charged {
		return b.charge(a.queue, more)
	}
	return nil
}

func (b *books) heldToGrow(e *event.ResizeReserved) *violation {
	c := b.containers[e.Container]
	if c == nil || !c.live {
		return against("S10", "%+v of a container that does not live", e)
	}
	n := b.nodes[c.node]
	switch {
	case e.Reservation <= b.lastNumber:
		return against("S6", "reservation number %d after %d", e.Reservation, b.lastNumber)
	case n.reservation != 0:
		return against("S8", "%s is reserved by r%d and by r%d", n.id, n.reservation, e.Reservation)
	}
	b.lastNumber, n.reservation, c.held = e.Reservation, e.Reservation, c.more
	b.reservations[e.Reservation] = &reservationBook{app: e.Container.App, node: c.node, container: e.Container, size: c.more, grows: true}
	return b.charge(b.apps[e.Container.App].queue, c.more)
}
