package state

import (
	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for size changes of containers.

// giveUpGrowth cancels the reservation for a container's increase before the event e ends the
// container.
func (m *machine) giveUpGrowth(t *rapid.T, e event.Event) {
	var ref event.ContainerRef
	switch e := e.(type) {
	case *event.ContainerCompleted:
		ref = e.Container
	case *event.ContainerReleased:
		ref = e.Container
	default:
		return
	}
	if slot := m.s.Container(ref); slot != 0 && m.s.Resizes.Reserved(m.s.Containers.Get(slot)) {
		r := m.s.Resizes.Get(m.s.Containers.Get(slot).Resize)
		m.apply(t, &event.ReservationCancelled{Reservation: m.s.Reservations.Get(r.Reservation).Number,
			Cause: yarn.CancelResizeEnded})
	}
}

func (m *machine) resizable(t *rapid.T, filter func(c *Container) bool) (ContainerSlot, *Container) {
	return pick(t, "container", &m.s.Containers, func(c *Container) bool {
		return c.State.Live() && m.s.Apps.Get(c.App).Activated() && filter(c)
	})
}

func (m *machine) AskToGrow(t *rapid.T) {
	slot, c := m.resizable(t, func(c *Container) bool { return !m.s.Resizes.Reserved(c) })
	by := drawOf(t, "by", []yarn.Resource{{}, gb(1), gb(2), yarn.NewResource(0, 1), gb(6)})
	if by.IsZero() && m.s.AskFor(m.s.Apps.Get(c.App), c.Key, slot) == 0 {
		t.Skip("nothing to take back")
	}
	m.apply(t, &event.ContainerResizeAsked{Container: m.s.Apps.Ref(c), Size: c.Size.Add(by)})
}

func (m *machine) Grow(t *rapid.T) {
	slot, c := m.resizable(t, m.mayGrow)
	n, before := m.s.Nodes.Get(c.Node).Allocated, c.Size
	m.apply(t, &event.ContainerIncreased{Container: m.s.Apps.Ref(c)})
	if now := m.s.Containers.Get(slot); now.Size == before || !before.Within(now.Size) ||
		m.s.Nodes.Get(now.Node).Allocated == n {
		t.Fatal("it has not grown")
	}
}

func (m *machine) mayGrow(c *Container) bool {
	r, n := m.s.Resizes.Of(c), m.s.Nodes.Get(c.Node)
	if r == nil || r.Ask == 0 || n.Reservation != 0 || !n.State.Usable() {
		return false
	}
	k := m.s.Asks.Get(r.Ask)
	return k.Count == 1 && m.within(k.Size, n.Unallocated())
}

// ReserveToGrow asks for the whole node for one container, so that the increase needs a
// reservation.
func (m *machine) ReserveToGrow(t *rapid.T) {
	_, c := m.resizable(t, func(c *Container) bool {
		n := m.s.Nodes.Get(c.Node)
		return n.State.Usable() && n.Reservation == 0 && n.Count > 1 && !n.Unallocated().Negative() &&
			!m.s.Resizes.Reserved(c) && c.Size.Within(n.Total)
	})
	ref, size, whole := m.s.Apps.Ref(c), c.Size, m.s.Nodes.Get(c.Node).Total
	node := c.Node
	if whole == size || m.within(whole.Sub(size), m.s.Nodes.Get(node).Unallocated()) {
		t.Skip("it has room")
	}
	m.apply(t, &event.ContainerResizeAsked{Container: ref, Size: whole})
	m.apply(t, &event.ResizeReserved{Reservation: m.s.Meta.NextReservation + 1, Container: ref})
}

func (m *machine) Shrink(t *rapid.T) {
	_, c := m.resizable(t, func(c *Container) bool { return true })
	size := c.Size
	size[yarn.Memory] -= rapid.Int64Range(0, max(size[yarn.Memory]-1, 0)).Draw(t, "by")
	m.apply(t, &event.ContainerDecreased{Container: m.s.Apps.Ref(c), Size: size})
}

// GrowAndSay increases a container and reports its size, so that short runs reach these states.
func (m *machine) GrowAndSay(t *rapid.T) {
	slot, c := m.resizable(t, func(c *Container) bool {
		n := m.s.Nodes.Get(c.Node)
		return n.State.Usable() && n.Reservation == 0 && m.within(gb(1), n.Unallocated())
	})
	ref := m.s.Apps.Ref(c)
	m.apply(t, &event.ContainerResizeAsked{Container: ref, Size: c.Size.Add(gb(1))})
	m.apply(t, &event.ContainerIncreased{Container: ref})
	m.apply(t, &event.ContainerSizeReported{Container: ref, Size: m.s.Containers.Get(slot).Size})
	if rapid.Bool().Draw(t, "shrink") {
		m.apply(t, &event.ContainerDecreased{Container: ref, Size: m.s.Containers.Get(slot).Size.Sub(gb(1))})
		m.apply(t, &event.ResizeAcked{Container: ref, Version: m.s.Resizes.Version(m.s.Containers.Get(slot))})
	}
}

// SaySize is a node's report of the size of a container that was increased.
func (m *machine) SaySize(t *rapid.T) {
	_, c := m.resizable(t, func(c *Container) bool { return c.Sizing&SizeUnconfirmed != 0 })
	size := drawOf(t, "size", []yarn.Resource{c.Size, m.s.Resizes.Of(c).Confirmed, gb(1), c.Size.Add(gb(1)),
		yarn.NewResource(1, 99)})
	m.apply(t, &event.ContainerSizeReported{Container: m.s.Apps.Ref(c), Size: size})
}

func (m *machine) TellSize(t *rapid.T) {
	_, c := m.resizable(t, func(c *Container) bool { return c.Sizing&SizeUnacked != 0 })
	m.apply(t, &event.ResizeAcked{Container: m.s.Apps.Ref(c), Version: m.s.Resizes.Version(c)})
}
