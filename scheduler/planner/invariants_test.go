package planner

import (
	"fmt"
	"iter"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/node"
	"rmd/yarn"
)

// check verifies the scheduler's invariants after an input: first those of each event, applied to
// the state before the input, then those of the resulting state. It recomputes sums from the
// records with simple loops.
func (m *machine) check(before *state.State, in input.Input, events []event.Event) {
	if m.count%sumsEvery == 0 {
		if err := m.p.st.Check(); err != nil {
			m.fail("%v", err)
		}
	}
	if m.p.Config() == nil {
		return
	}
	m.events = events
	m.checkKept(before, events)
	_, m.round = in.(*input.PreemptionRound)
	m.checkPreempted(before, events)
	w := &walk{m: m, st: before, pre: before}
	for _, e := range events {
		w.step(e)
	}
	m.checkLeases()
	for _, check := range []func() error{m.checkNodes, m.checkReservations, m.checkGangs, m.checkQueues, m.checkUsers,
		m.checkApps, m.checkStates, m.checkCapacities, m.checkFirstNodes} {
		if err := check(); err != nil {
			m.fail("%v", err)
		}
	}
	if hb, ok := in.(*input.NodeHeartbeat); ok {
		if slot := before.Nodes.Find(hb.ID); slot != 0 && node.Stale(before.Nodes.Get(slot), hb) {
			if len(events) > 0 {
				m.fail("a late report led to %d events", len(events))
			}
			return
		}
		m.checkServed(hb.ID)
		m.checkFull(hb)
	}
}

func (m *machine) checkNodes() error {
	st, calc := m.p.st, m.p.Config().Calculator
	held := map[state.NodeSlot]int{}
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool { held[r.Node]++; return true })
	sums := map[state.NodeSlot]yarn.Resource{}
	var err error
	st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		if c.OnNode {
			sums[c.Node] = sums[c.Node].Add(c.Size)
		}
		if c.OnNode && !st.Nodes.Get(c.Node).State.Usable() {
			err = fmt.Errorf("7: a container is on %s, which is %s", st.Nodes.Get(c.Node).ID, st.Nodes.Get(c.Node).State)
		}
		return err == nil
	})
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		switch {
		case held[slot] > 1 || (held[slot] == 1) != (n.Reservation != 0):
			err = fmt.Errorf("1, 11: %d reservations name %s, which names %d", held[slot], n.ID, n.Reservation)
		case n.Allocated.Negative() || n.Allocated != sums[slot]:
			err = fmt.Errorf("2: %s says %v allocated, its containers sum to %v", n.ID, n.Allocated, sums[slot])
		case n.Unallocated() != n.Total.Sub(n.Allocated):
			err = fmt.Errorf("4: %s has %v unallocated", n.ID, n.Unallocated())
		case n.Reservation != 0 && n.State != yarn.NodeRunning:
			err = fmt.Errorf("7: %s is %s and reserved", n.ID, n.State)
		case n.Silent() && (n.Reservation != 0 || !n.Heard()):
			err = fmt.Errorf("40: %s, which is %s, is silent and reserved: %v", n.ID, n.State, n.Reservation != 0)
		case n.Reservation != 0 && !calc.FitsIn(st.Reservations.Get(n.Reservation).Size, n.Total):
			err = fmt.Errorf("10.4: %s is reserved for more than it has", n.ID)
		}
		return err == nil
	})
	return err
}

func (m *machine) checkReservations() error {
	st := m.p.st
	var err error
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		a, n := st.Apps.Get(r.App), st.Nodes.Get(r.Node)
		ask := st.AskFor(a, r.Key, r.IncreaseOf)
		switch {
		case a.State.Ended() || !a.Activated() || (r.Attempt != a.Attempt && r.IncreaseOf == 0):
			err = fmt.Errorf("8: r%d is of attempt %d of %s, which is %s", r.Number, r.Attempt, a.ID, a.State)
		case ask == 0:
			err = fmt.Errorf("9: r%d has no ask", r.Number)
		case m.p.Config().EagerCancel && st.Asks.Get(ask).Count < 1:
			err = fmt.Errorf("9: nothing is outstanding under the key of r%d", r.Number)
		case r.Members == 0 && st.Asks.Get(ask).Count > 0 && st.Asks.Get(ask).Size != r.Size:
			err = fmt.Errorf("10: r%d is for %v, %v is asked", r.Number, r.Size, st.Asks.Get(ask).Size)
		case m.p.Config().EagerCancel && st.Asks.Get(ask).Label != n.Label &&
			(st.Asks.Get(ask).Label != 0 || st.Labels.Get(n.Label).Exclusive):
			err = fmt.Errorf("r%d is on a node of label %q, %q is asked", r.Number, st.Labels.Name(n.Label),
				st.Labels.Name(st.Asks.Get(ask).Label))
		case a.Blacklisted(n):
			err = fmt.Errorf("17: r%d is on %s, which is blacklisted", r.Number, n.ID)
		}
		return err == nil
	})
	st.Asks.Each(func(_ state.AskSlot, k *state.Ask) bool {
		held := int32(0)
		a := st.Apps.Get(k.App)
		for _, r := range st.Reservations.Of(a) {
			if r.Key == k.Key && r.IncreaseOf == k.IncreaseOf {
				held++
			}
		}
		if held != k.Reservations || (held == 0 && k.ReReservations != 0) {
			err = fmt.Errorf("14: key %v of %s holds %d reservations, says %d and %d re-reservations", k.Key, a.ID, held,
				k.Reservations, k.ReReservations)
		}
		return err == nil
	})
	return err
}

// part is an application, a queue or a user in one partition.
type part[S ~uint32] struct {
	slot  S
	label state.LabelSlot
}

// partitionsOf yields 0, the default partition, and the labels that a state knows.
func partitionsOf(st *state.State) iter.Seq[state.LabelSlot] {
	return func(yield func(state.LabelSlot) bool) {
		if yield(0) {
			st.Labels.Each(func(label state.LabelSlot, _ *state.Label) bool { return yield(label) })
		}
	}
}

// ledger holds the expected sums of a queue, user or application in one partition.
type ledger struct {
	used, reserved, pending yarn.Resource
	containers              int64
}

// ledgers sums the records of each application and partition.
func (m *machine) ledgers() map[part[state.AppSlot]]*ledger {
	st := m.p.st
	apps := map[part[state.AppSlot]]*ledger{}
	at := func(app state.AppSlot, label state.LabelSlot) *ledger {
		p := part[state.AppSlot]{app, label}
		if apps[p] == nil {
			apps[p] = &ledger{}
		}
		return apps[p]
	}
	st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		if c.State.Live() {
			l := at(c.App, st.Nodes.Get(c.Node).Label)
			l.used = l.used.Add(c.Size)
			l.containers++
		}
		return true
	})
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		l := at(r.App, st.Nodes.Get(r.Node).Label)
		l.reserved = l.reserved.Add(r.Size)
		l.containers++
		return true
	})
	st.Asks.Each(func(_ state.AskSlot, k *state.Ask) bool {
		l := at(k.App, k.Label)
		l.pending = l.pending.Add(k.Size.Times(k.Count))
		return true
	})
	st.Apps.Each(func(slot state.AppSlot, _ *state.App) bool { at(slot, 0); return true })
	return apps
}

func (m *machine) checkApps() error {
	var err error
	sums := map[state.AppSlot]ledger{}
	for p, l := range m.ledgers() { // sums: the order is harmless
		w := sums[p.slot]
		sums[p.slot] = ledger{used: w.used.Add(l.used), reserved: w.reserved.Add(l.reserved),
			pending: w.pending.Add(l.pending)}
	}
	m.p.st.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		l := sums[slot]
		if a.Used != l.used || a.Reserved != l.reserved || a.Pending != l.pending || a.Pending.Negative() {
			err = fmt.Errorf("22: %s says %v %v %v, its records %+v", a.ID, a.Used, a.Reserved, a.Pending, l)
		}
		return err == nil
	})
	return err
}

func (m *machine) checkQueues() error {
	st := m.p.st
	want, containers := map[part[state.QueueSlot]]ledger{}, map[state.QueueSlot]int64{}
	for p, l := range m.ledgers() { // sums: the order is harmless
		a := st.Apps.Get(p.slot)
		if a.State.Ended() {
			continue
		}
		for q := a.Queue; q != 0; q = st.Queues.Get(q).Parent {
			w := want[part[state.QueueSlot]{q, p.label}]
			want[part[state.QueueSlot]{q, p.label}] = ledger{used: w.used.Add(l.used).Add(l.reserved),
				reserved: w.reserved.Add(l.reserved), pending: w.pending.Add(l.pending)}
			containers[q] += l.containers
		}
	}
	var err error
	st.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		if q.Containers != containers[slot] {
			err = fmt.Errorf("23: %s counts %d containers, there are %d", q.Path, q.Containers, containers[slot])
		}
		for label := range partitionsOf(st) {
			u, w := st.QueueUse(slot, label), want[part[state.QueueSlot]{slot, label}]
			switch {
			case u.Used != w.used:
				err = fmt.Errorf("18, 19: %s uses %v of %q, its applications %v", q.Path, u.Used, st.Labels.Name(label), w.used)
			case u.Reserved != w.reserved || u.Reserved.Negative() || !u.Reserved.Within(u.Used):
				err = fmt.Errorf("20: %s has %v reserved of %v used of %q, its applications %v", q.Path, u.Reserved, u.Used,
					st.Labels.Name(label), w.reserved)
			case u.Pending != w.pending:
				err = fmt.Errorf("19, 22: %s has %v of %q pending, its applications %v", q.Path, u.Pending,
					st.Labels.Name(label), w.pending)
			}
		}
		return err == nil
	})
	return err
}

func (m *machine) checkUsers() error {
	st := m.p.st
	users, leaf := map[part[state.UserSlot]]yarn.Resource{}, map[part[state.QueueSlot]]yarn.Resource{}
	for p, l := range m.ledgers() { // sums: the order is harmless
		if a := st.Apps.Get(p.slot); !a.State.Ended() {
			u := part[state.UserSlot]{a.UserSlot, p.label}
			users[u] = users[u].Add(l.used).Add(l.reserved)
		}
	}
	am, active := map[part[state.QueueSlot]]yarn.Resource{}, map[state.QueueSlot]int32{}
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if !a.State.Ended() && (a.Activated() || a.AttemptState == state.AttemptFinishing) {
			active[a.Queue]++
			if !a.Unmanaged {
				am[part[state.QueueSlot]{a.Queue, a.AMLabel}] = am[part[state.QueueSlot]{a.Queue, a.AMLabel}].Add(a.AM)
			}
		}
		return true
	})
	var err error
	for label := range partitionsOf(st) {
		st.Users.Each(func(slot state.UserSlot, u *state.User) bool {
			used := st.UserUse(slot, label).Used
			leaf[part[state.QueueSlot]{u.Queue, label}] = leaf[part[state.QueueSlot]{u.Queue, label}].Add(used)
			if want := users[part[state.UserSlot]{slot, label}]; used != want {
				err = fmt.Errorf("21: user %s of %s uses %v of %q, the applications %v", st.Names.Text(u.Name),
					st.Queues.Get(u.Queue).Path, used, st.Labels.Name(label), want)
			}
			return err == nil
		})
		st.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
			u, p := st.QueueUse(slot, label), part[state.QueueSlot]{slot, label}
			switch {
			case err != nil || !q.Leaf:
			case leaf[p] != u.Used:
				err = fmt.Errorf("21: the users of %s use %v of %q, it says %v", q.Path, leaf[p], st.Labels.Name(label), u.Used)
			case am[p] != u.AMUsed || active[slot] != q.ActiveApps:
				err = fmt.Errorf("28: %d AMs of %s take %v of %q, it says %d and %v", active[slot], q.Path, am[p],
					st.Labels.Name(label), q.ActiveApps, u.AMUsed)
			}
			return err == nil
		})
	}
	return err
}

// checkStates is invariant 30.
func (m *machine) checkStates() error {
	st := m.p.st
	holds := map[state.QueueSlot]bool{}
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if !a.State.Ended() {
			for q := a.Queue; q != 0; q = st.Queues.Get(q).Parent {
				holds[q] = true
			}
		}
		return true
	})
	var err error
	st.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		if (q.State == yarn.QueueStopped && holds[slot]) || (q.State == yarn.QueueDraining && !holds[slot]) {
			err = fmt.Errorf("30: %s is %s, applications in it: %v", q.Path, q.State, holds[slot])
		}
		return err == nil
	})
	return err
}

// checkCapacities is invariant 27.
func (m *machine) checkCapacities() error {
	for label := range partitionsOf(m.p.st) {
		if err := checkCapacities(capacitiesOf(m.p.Config(), m.p.st, label)); err != nil {
			return fmt.Errorf("of label %q: %w", m.p.st.Labels.Name(label), err)
		}
	}
	return nil
}

func checkCapacities(cfg *capacity.Config, tree *capacity.Tree) error {
	for i := range cfg.Queues {
		q, e := &cfg.Queues[i], &tree.Capacities[i]
		if !e.EffMin.Within(e.EffMax) {
			return fmt.Errorf("27: %s has the minimum %v above the maximum %v", q.Path, e.EffMin, e.EffMax)
		}
		if q.Parent >= 0 && !e.EffMax.Within(tree.Capacities[q.Parent].EffMax) {
			return fmt.Errorf("27: %s may have more than its parent", q.Path)
		}
		var sum yarn.Resource
		for _, c := range q.Children {
			sum = sum.Add(tree.Capacities[c].EffMin)
		}
		for k := range sum {
			if sum[k] > e.EffMin[k]+int64(len(q.Children)) {
				return fmt.Errorf("27: the children of %s are guaranteed %v of %v", q.Path, sum, e.EffMin)
			}
		}
	}
	return nil
}

// checkKept is invariant 15: a reservation that did not end is unchanged.
func (m *machine) checkKept(before *state.State, events []event.Event) {
	ended := map[uint64]bool{}
	for _, e := range events {
		switch e := e.(type) {
		case *event.ReservationFulfilled:
			ended[e.Reservation] = true
		case *event.ReservationCancelled:
			ended[e.Reservation] = true
		}
	}
	before.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		slot := m.p.st.Reservations.Find(r.Number)
		if ended[r.Number] != (slot == 0) {
			m.fail("15: r%d ended: %v, and is at slot %d", r.Number, ended[r.Number], slot)
		}
		if slot != 0 {
			if now := m.p.st.Reservations.Get(slot); now.Node != r.Node || now.Size != r.Size || now.Container != r.Container ||
				now.App != r.App {
				m.fail("15: r%d was %+v and is %+v", r.Number, r, now)
			}
		}
		return true
	})
}

// servedElsewhere reports whether an eager pass of this input served the reservation's key on
// another node. That may happen after the turn of the reserved node, if the visit of that node
// opened the other node's rack to the ask. In lazy mode the reservation then waits for the next
// heartbeat of its node.
func (m *machine) servedElsewhere(a *state.App, r *state.Reservation) bool {
	return m.lazy && m.p.opt.Eager && slices.ContainsFunc(m.events, func(e event.Event) bool {
		g, ok := e.(*event.ContainerAllocated)
		return ok && g.App == a.ID.Seq && g.Key == r.Key && g.Node != r.Node
	})
}

// recalledFor reports whether this input ended a borrower of room that the reservation needs. The
// pass on the node recalls borrowers, and they end after it. Without eager passes the reservation
// then waits for the next heartbeat of its node.
func (m *machine) recalledFor(r *state.Reservation) bool {
	return !m.p.opt.Eager && slices.ContainsFunc(m.events, func(e event.Event) bool {
		asked, ok := e.(*event.PreemptionAsked)
		return ok && asked.Cause == yarn.PreemptLease && asked.Reservation == r.Number &&
			asked.DeadlineMillis <= m.p.sched.Now()
	})
}

// checkServed is invariants 38 and 9 (lazy mode): a node that has had its turn and is still
// reserved lacks the room, and its reservation is still asked for.
func (m *machine) checkServed(id yarn.NodeID) {
	st := m.p.st
	n := st.Nodes.Get(st.Nodes.Find(id))
	if n.Silent() {
		m.fail("40: %s has sent a heartbeat and is silent", id)
	}
	if n.State != yarn.NodeRunning || n.Reservation == 0 || n.Report == state.TakenBack {
		return
	}
	r := st.Reservations.Get(n.Reservation)
	a := st.Apps.Get(r.App)
	if ask := st.AskFor(a, r.Key, r.IncreaseOf); (ask == 0 || st.Asks.Get(ask).Count == 0) && !m.servedElsewhere(a, r) {
		m.fail("9: %s has had its turn and is still reserved by r%d, whose ask is gone", id, r.Number)
	}
	if r.Members == 0 && m.p.Config().Calculator.FitsIn(r.Size, n.Unallocated()) && !m.recalledFor(r) {
		m.fail("38: %s has had its turn, has room for r%d and did not fulfill it", id, r.Number)
	}
}
