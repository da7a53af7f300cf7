package planner

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// lent is invariant 40: a reserved node may lend room only to a container of a queue that may
// borrow, and no reservation waits longer because of that.
func (w *walk) lent(e *event.ContainerLent) {
	m, cfg, st := w.m, w.m.p.Config(), w.st
	a, n := st.Apps.Get(st.Apps.Find(e.App)), st.Nodes.Get(e.Node)
	k := st.Asks.Get(st.Asks.Find(a, e.Key))
	slot := st.Reservations.Find(e.Reservation)
	if slot == 0 || n.Reservation != slot {
		m.fail("40: %s lends room of r%d, which does not reserve it", n.ID, e.Reservation)
	}
	r := st.Reservations.Get(slot)
	policy := cfg.Queues[must(cfg.Lookup(st.Queues.Get(a.Queue).Path))].Backfill
	left := n.Unallocated().Sub(k.Size)
	switch end := a.DeclaredEnd(st.Meta.NowMillis, false); {
	case n.State != yarn.NodeRunning || a.Blacklisted(n):
		m.fail("40: %s lends to %s, which refuses it, or it is %s", n.ID, a.ID, n.State)
	case !cfg.Calculator.FitsIn(k.Size, n.Unallocated()):
		m.fail("3: %v on %s, which has %v of %v allocated", k.Size, n.ID, n.Allocated, n.Total)
	case policy == capacity.BackfillOff:
		m.fail("40: %s borrows, and its queue may not", a.ID)
	case e.DeadlineMillis == event.NoLease:
		for i := range left {
			if (i == yarn.Memory || cfg.Calculator.Dominant) && k.Size[i] > 0 && left[i] < r.Size[i] {
				m.fail("40: %s takes %v of what r%d waits for: %v is left of %v", a.ID, k.Size, e.Reservation, left, r.Size)
			}
		}
	case k.AM:
		m.fail("40: the AM of %s may have to give its room back", a.ID)
	case e.DeadlineMillis == 0 && policy != capacity.BackfillPreemptable:
		m.fail("40: %s has declared nothing, and its queue wants that", a.ID)
	case e.DeadlineMillis > 0 && (end == 0 || end > e.DeadlineMillis || !w.waitsUntil(r, e.DeadlineMillis)):
		m.fail("40: %s declares to end at %d and borrows until %d, when r%d may have waited", a.ID, end, e.DeadlineMillis,
			e.Reservation)
	}
	w.labels().mayUse(k, n)
	w.number(event.ContainerRef{App: e.App, Attempt: a.Attempt, Number: e.Number})
	w.locality(k, n, e.Locality)
}

// waitsUntil reports whether the reservation will lack room until the given time, if the containers
// of its node end no later than they declared.
func (w *walk) waitsUntil(r *state.Reservation, until int64) bool {
	st, n := w.st, w.st.Nodes.Get(r.Node)
	var stays yarn.Resource
	for slot, c := range st.Containers.On(n) {
		end := st.Apps.Get(c.App).DeclaredEnd(c.AllocatedMillis, c.AM)
		own := slot == r.IncreaseOf
		if own || c.State.Live() && !st.Leases.Has(slot) && !st.Preemptions.Has(slot) && end >= until {
			stays = stays.Add(c.Size)
		}
	}
	return !w.m.p.Config().Calculator.FitsIn(r.Size, n.Total.Sub(stays))
}

// checkLeases is invariant 41: after a round no lease is past its deadline, and no recalled lease
// without a deadline is left.
func (m *machine) checkLeases() {
	st := m.p.State()
	type late struct {
		slot     state.ContainerSlot
		deadline int64
	}
	var over []late
	st.Leases.Each(func(slot state.ContainerSlot, l *state.Lease) bool {
		if st.Preemptions.Has(slot) && l.DeadlineMillis == 0 {
			m.fail("41: %s is to give its room back now, and runs on", st.Apps.ContainerID(st.Containers.Get(slot)))
		}
		if m.round && l.DeadlineMillis != 0 && l.DeadlineMillis <= st.Meta.NowMillis {
			over = append(over, late{slot, l.DeadlineMillis})
		}
		return true
	})
	slices.SortFunc(over, func(a, b late) int { return cmp.Compare(a.slot, b.slot) })
	for _, o := range over {
		m.fail("41: %s was to end at %d", st.Apps.ContainerID(st.Containers.Get(o.slot)), o.deadline)
	}
}
