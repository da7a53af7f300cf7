package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
)

// growing returns the container of an event, its application and its ask.
func (w *walk) growing(ref event.ContainerRef) (*state.App, *state.Container, *state.Ask) {
	slot := w.st.Container(ref)
	c := w.st.Containers.Get(slot)
	a := w.st.Apps.Get(c.App)
	return a, c, w.st.Asks.Get(w.st.AskFor(a, c.Key, slot))
}

// increased checks for a growing container what holds for an allocation (invariants 3, 5, 7, 17,
// 24, 25), and that the container keeps its node.
func (w *walk) increased(e *event.ContainerIncreased) {
	a, c, k := w.growing(e.Container)
	_, _, n := w.placedFor(a, k, c.Node, "an increase")
	if !w.m.p.Config().Calculator.FitsIn(n.Allocated.Add(k.Size), n.Total) {
		w.m.fail("3: %v more on %s, which has %v of %v allocated", k.Size, n.ID, n.Allocated, n.Total)
	}
	w.grows(e, e.Container, c.Size.Add(k.Size) == c.Size)
}

// reservedToGrow is invariant 6 for the amount by which a container is to grow.
func (w *walk) reservedToGrow(e *event.ResizeReserved) {
	m, calc := w.m, w.m.p.Config().Calculator
	a, c, k := w.growing(e.Container)
	_, _, n := w.placedFor(a, k, c.Node, "a reservation to grow")
	switch {
	case !calc.FitsIn(k.Size, n.Total), calc.FitsIn(k.Size, n.Unallocated()),
		!m.round && calc.AvailableContainers(n.Unallocated(), m.p.Config().MinAlloc) < 1:
		m.fail("6: r%d of %v on %s with %v free of %v", e.Reservation, k.Size, n.ID, n.Unallocated(), n.Total)
	case k.Reservations != 0:
		m.fail("13: r%d is the second for one container", e.Reservation)
	}
	m.promised[e.Reservation] = e.Container
}

// grows checks that an event enlarges the container, which keeps its ID and node.
func (w *walk) grows(e event.Event, ref event.ContainerRef, nothing bool) {
	before := *w.st.Containers.Get(w.st.Container(ref))
	after := w.st.Fork()
	if err := after.Apply(e); err != nil {
		w.m.fail("an event does not follow: %v", err)
	}
	slot := after.Container(ref)
	if slot == 0 {
		w.m.fail("12: container %+v is gone after %s", ref, e.Kind())
	}
	now := after.Containers.Get(slot)
	if nothing || now.Node != before.Node || !before.Size.Within(now.Size) || now.Size == before.Size ||
		after.Resizes.Version(now) != w.st.Resizes.Version(&before)+1 {
		w.m.fail("14: container %+v went from %v to %v", ref, before.Size, now.Size)
	}
}
