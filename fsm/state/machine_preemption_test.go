package state

import (
	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for preemption.

// withdrawFor withdraws the warnings for a reservation before the event e ends the reservation.
func (m *machine) withdrawFor(t *rapid.T, e event.Event) {
	var number uint64
	switch e := e.(type) {
	case *event.ReservationFulfilled:
		number = e.Reservation
	case *event.ReservationCancelled:
		number = e.Reservation
	}
	slot := m.s.Reservations.Find(number)
	if slot == 0 {
		return
	}
	var warned []event.ContainerRef
	for c := range m.s.PreemptedFor(m.s.Reservations.Get(slot)) {
		warned = append(warned, m.s.Apps.Ref(m.s.Containers.Get(c)))
	}
	for _, ref := range warned {
		m.apply(t, &event.PreemptionWithdrawn{Container: ref, Cause: yarn.WithdrawCancelled})
	}
}

func (m *machine) AskPreemption(t *rapid.T) {
	slot, c := pick(t, "container", &m.s.Containers, func(c *Container) bool { return c.State.Live() && c.OnNode })
	if m.s.Preemptions.Has(slot) {
		t.Skip("it is warned")
	}
	e := &event.PreemptionAsked{Container: m.s.Apps.Ref(c), Queue: "root.b.x",
		Cause:          drawOf(t, "cause", []yarn.PreemptionCause{yarn.PreemptGuarantee, yarn.PreemptBalance}),
		DeadlineMillis: m.s.Meta.NowMillis + rapid.Int64Range(0, 15000).Draw(t, "wait"), Under: gb(2), Over: gb(1),
		Sets: 3, Cost: 9}
	if r := m.s.Nodes.Get(c.Node).Reservation; r != 0 && m.s.Reservations.Get(r).IncreaseOf != slot {
		e.Reservation = m.s.Reservations.Get(r).Number
	}
	m.apply(t, e)
}

func (m *machine) AskPreemptionMore(t *rapid.T) { m.AskPreemption(t) }

// warned picks a container with a warning.
func (m *machine) warned(t *rapid.T) *Container {
	slot, _ := pick(t, "warned container", &m.s.Preemptions, func(*Preemption) bool { return true })
	return m.s.Containers.Get(slot)
}

func (m *machine) WithdrawPreemption(t *rapid.T) {
	m.apply(t, &event.PreemptionWithdrawn{Container: m.s.Apps.Ref(m.warned(t)), Cause: yarn.WithdrawNotEntitled})
}

func (m *machine) Preempt(t *rapid.T) {
	c := m.warned(t)
	app, before := c.App, m.s.Preempted.Of(c.App)
	if c.Launched {
		m.apply(t, &event.ContainerReleased{Container: m.s.Apps.Ref(c), ExitStatus: yarn.ExitPreempted,
			Diagnostics: "preempted"})
	} else {
		m.apply(t, &event.ContainerCompleted{Container: m.s.Apps.Ref(c), ExitStatus: yarn.ExitPreempted,
			Restore: m.restorable(m.s.Container(m.s.Apps.Ref(c)))})
	}
	if after := m.s.Preempted.Of(app); after.Containers+after.AMs != before.Containers+before.AMs+1 {
		t.Fatalf("it has lost %+v, before %+v", after, before)
	}
}

func (m *machine) KeepGuarantee(t *rapid.T) {
	slot, q := pick(t, "queue", &m.s.Queues, func(q *Queue) bool { return q.Leaf })
	e := &event.GuaranteeKept{Path: q.Path, Size: yarn.NewResource(rapid.Int64Range(0, 2).Draw(t, "size"), 0),
		ReachedMillis: rapid.Int64Range(0, m.s.Meta.NowMillis).Draw(t, "reached"),
		IdleLeft:      rapid.Uint64Range(0, 2).Draw(t, "idle")}
	if _, kept := m.s.Kept.For(slot, 0); !kept && e.Size.IsZero() && e.IdleLeft == 0 {
		e.Size = yarn.NewResource(1, 1)
	}
	m.apply(t, e)
}

func (m *machine) OweGuarantee(t *rapid.T) {
	_, q := pick(t, "queue", &m.s.Queues, func(q *Queue) bool { return q.Leaf })
	e := &event.GuaranteeOwed{Path: q.Path, Debt: yarn.DebtOwed}
	if debt, owed := m.s.Debts.To(m.s.Queues.Find(q.Path), 0); owed {
		e.Debt = yarn.DebtEnded
		if !debt.Overdue && rapid.Bool().Draw(t, "overdue") {
			e.Debt = yarn.DebtOverdue
		}
	}
	m.apply(t, e)
}
