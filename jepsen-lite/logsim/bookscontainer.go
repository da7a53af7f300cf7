package logsim

import (
	"maps"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// fits says whether a size fits what is free in the kinds that decide.
func (b *books) fits(size, free yarn.Resource) bool {
	if b.dominant {
		return size.Within(free)
	}
	return size[yarn.Memory] <= free[yarn.Memory]
}

// enter notes a new container id.
func (b *books) enter(ref event.ContainerRef, c *containerBook) *violation {
	if b.containers[ref] != nil {
		return against("S6", "container id %+v is given twice", ref)
	}
	b.containers[ref] = c
	a := b.apps[ref.App]
	a.containers = append(a.containers, ref)
	return nil
}

func (b *books) followContainer(e event.Event) *violation {
	switch e := e.(type) {
	case *event.ContainerAllocated:
		return b.allocated(e)
	case *event.ContainerLaunched:
		if c := b.containers[e.Container]; c == nil || !c.live {
			return against("S10", "%+v of a container that does not live", e)
		}
	case *event.ContainerReleased:
		c := b.containers[e.Container]
		if c == nil || !c.live {
			return against("S10", "%+v of a container that does not live", e)
		}
		return b.dies(e.Container, c)
	case *event.ContainerCompleted:
		c := b.containers[e.Container]
		if c == nil || !c.onNode {
			return against("S10", "%+v of a container that no node holds", e)
		}
		c.onNode = false
		b.onNode--
		n := b.nodes[c.node]
		if n.used = n.used.Sub(c.size); n.used.Negative() {
			return against("S7", "node %s gives %s", n.id, n.used)
		}
		if c.live {
			return b.dies(e.Container, c)
		}
	}
	return nil
}

func (b *books) dies(ref event.ContainerRef, c *containerBook) *violation {
	c.live = false
	b.live--
	return b.charge(b.apps[ref.App].queue, yarn.Resource{}.Sub(c.size))
}

func (b *books) allocated(e *event.ContainerAllocated) *violation {
	a, n := b.apps[e.App], b.nodes[e.Node]
	switch {
	case a == nil || n == nil || a.ended:
		return against("S10", "%+v for an application that is over, or on no node", e)
	case n.reservation != 0:
		return against("S8", "%+v on %s, which r%d holds", e, n.id, n.reservation)
	case !n.usable:
		return against("S7", "%+v on %s, which is not in use", e, n.id)
	}
	c := &containerBook{node: e.Node, size: a.sizes[e.Key], am: e.AM}
	if v := b.enter(event.ContainerRef{App: e.App, Attempt: a.attempt, Number: e.Number}, c); v != nil {
		return v
	}
	return b.placed(a, n, c, true)
}

// placed puts a container on its node; charged says that its queue is yet to count it.
func (b *books) placed(a *appBook, n *nodeBook, c *containerBook, charged bool) *violation {
	if !b.fits(c.size, n.total.Sub(n.used)) {
		return against("S7", "%s is given on %s, which has %s of %s", c.size, n.id, n.total.Sub(n.used), n.total)
	}
	c.live, c.onNode, c.promised = true, true, false
	b.live++
	b.onNode++
	n.used = n.used.Add(c.size)
	if charged {
		return b.charge(a.queue, c.size)
	}
	return nil
}

func (b *books) followReservation(e event.Event) *violation {
	switch e := e.(type) {
	case *event.ReservationMade:
		return b.reserved(e)
	case *event.ReservationFulfilled:
		r := b.reservations[e.Reservation]
		if r == nil {
			return against("S8", "%+v of a reservation that is not held", e)
		}
		delete(b.reservations, e.Reservation)
		n := b.nodes[r.node]
		n.reservation = 0
		if r.grows {
			return b.grows(b.apps[r.app], b.containers[r.container], false)
		}
		return b.placed(b.apps[r.app], n, b.containers[r.container], false)
	case *event.ReservationCancelled:
		r := b.reservations[e.Reservation]
		if r == nil {
			return against("S8", "%+v of a reservation that is not held", e)
		}
		delete(b.reservations, e.Reservation)
		b.nodes[r.node].reservation = 0
		b.containers[r.container].promised, b.containers[r.container].held = false, yarn.Resource{}
		return b.charge(b.apps[r.app].queue, yarn.Resource{}.Sub(r.size))
	}
	return nil
}

// renumber has what is held promise containers of a new epoch, in the order in
// which the reservations were made.
func (b *books) renumber(epoch uint32) *violation {
	for _, number := range slices.Sorted(maps.Keys(b.reservations)) {
		r := b.reservations[number]
		if r.grows {
			continue
		}
		last := yarn.ContainerNumber(epoch, 0)
		for _, ref := range b.apps[r.app].containers {
			if ref.Attempt == r.container.Attempt {
				last = max(last, ref.Number)
			}
		}
		promised := *b.containers[r.container]
		b.containers[r.container].promised = false
		r.container.Number = last + 1
		if v := b.enter(r.container, &promised); v != nil {
			return v
		}
	}
	return nil
}

func (b *books) reserved(e *event.ReservationMade) *violation {
	a, n := b.apps[e.App], b.nodes[e.Node]
	switch {
	case a == nil || n == nil || a.ended:
		return against("S10", "%+v for an application that is over, or on no node", e)
	case e.Reservation <= b.lastNumber:
		return against("S6", "reservation number %d after %d", e.Reservation, b.lastNumber)
	case n.reservation != 0:
		return against("S8", "%s is reserved by r%d and by r%d", n.id, n.reservation, e.Reservation)
	}
	size := a.sizes[e.Key]
	ref := event.ContainerRef{App: e.App, Attempt: a.attempt, Number: e.Number}
	if v := b.enter(ref, &containerBook{node: e.Node, size: size, am: e.AM, promised: true}); v != nil {
		return v
	}
	b.lastNumber, n.reservation = e.Reservation, e.Reservation
	b.reservations[e.Reservation] = &reservationBook{app: e.App, node: e.Node, container: ref, size: size}
	return b.charge(a.queue, size)
}
