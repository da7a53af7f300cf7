package planner

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// windDown ends a story. It leaves one application with one plain ask, which must be served
// (invariants 38, 40). Then nothing is asked, so nothing may be reserved (39).
func (m *machine) windDown() {
	m.plan(&input.SetHosts{})
	keep := m.lastAsker()
	for _, id := range m.apps {
		if slot := m.p.st.Apps.ByID(id); slot != 0 && slot != keep && !m.p.st.Apps.Get(slot).State.Ended() {
			m.plan(&input.KillApplication{ID: id})
		}
	}
	m.sweep(true)
	m.sweep(true)
	if keep != 0 && m.p.st.Apps.Has(keep) && m.p.st.Apps.Get(keep).AttemptState == state.AttemptRegistered {
		m.servesTheLast(keep)
		a := m.p.st.Apps.Get(keep)
		m.askNothing(a)
	}
	m.sweep(true)
	if n := m.p.st.Reservations.Len(); n > 0 {
		m.fail("39: nothing is asked and %d reservations are left", n)
	}
	for _, id := range m.apps {
		m.plan(&input.KillApplication{ID: id})
	}
	m.sweep(true)
	m.sweep(true)
	if n := m.p.st.LabelUses.Len(); n > 0 {
		m.fail("all applications are dead and %d uses of labels are left", n)
	}
	if n := m.p.sched.Queue(0); !n.Used.IsZero() || !n.Pending.IsZero() || n.Containers != 0 {
		m.fail("all applications are dead and root uses %v", n.Used)
	}
	m.p.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.Count > 0 {
			m.fail("all applications are dead and %s holds %d containers", n.ID, n.Count)
		}
		return true
	})
}

// lastAsker returns the slot of a registered application, or 0.
func (m *machine) lastAsker() state.AppSlot {
	for _, id := range m.apps {
		if slot := m.p.st.Apps.ByID(id); slot != 0 && m.p.st.Apps.Get(slot).AttemptState == state.AttemptRegistered {
			return slot
		}
	}
	return 0
}

// sweep sends one heartbeat of every node. With done, all containers except live AMs end.
func (m *machine) sweep(done bool) {
	for _, id := range m.nodes {
		in := &input.NodeHeartbeat{ID: id}
		for _, c := range containersOn(m.p, m.p.st.Nodes.Find(id)) {
			k := m.p.st.Containers.Get(c)
			if done && !(k.AM && k.State.Live()) {
				in.Statuses = append(in.Statuses, input.ContainerStatus{Container: m.p.st.Apps.ContainerID(k),
					State: yarn.ContainerCompleted})
			}
		}
		m.plan(in)
	}
}

func (m *machine) askNothing(a *state.App) {
	in := &input.Allocate{Attempt: a.AttemptID(), Response: a.Response}
	for _, k := range m.p.st.Asks.Of(a) {
		if k.IncreaseOf != 0 {
			c := m.p.st.Containers.Get(k.IncreaseOf)
			in.Updates = append(in.Updates, input.Update{Container: m.p.st.Apps.ContainerID(c),
				Version: m.p.st.Resizes.Version(c), Size: c.Size})
			continue
		}
		// the ask's own label may be gone
		in.Asks = append(in.Asks, input.Ask{Key: k.Key, Name: yarn.Any, Relax: true, Label: yarn.NoLabel})
	}
	m.plan(in)
}

// servesTheLast checks that an ask of the smallest size is served within one sweep if it is the
// only ask and a node has room that its queues allow.
func (m *machine) servesTheLast(slot state.AppSlot) {
	m.askNothing(m.p.st.Apps.Get(slot))
	m.sweep(true)
	a := m.p.st.Apps.Get(slot)
	size, live := m.p.Config().MinAlloc, a.Live
	r := m.plan(&input.Allocate{Attempt: a.AttemptID(), Response: a.Response,
		Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 9}, Name: yarn.Any, Count: 1, Size: size, Relax: true,
			Label: yarn.NoLabel}}})
	if r.Refused() != nil {
		m.fail("the last ask is refused: %v", r.Refused())
	}
	room := m.hasRoom(m.p.st.Apps.Get(slot), size) // the ask has made its user active, which may lower the limit
	m.sweep(false)
	if room && m.p.st.Apps.Get(slot).Live <= live {
		m.fail("40: the only ask, %v, is not served though there is room", size)
	}
}

// hasRoom reports whether an ask without a label fits on a node without a label, within the limits
// of its queues and its user.
func (m *machine) hasRoom(a *state.App, size yarn.Resource) bool {
	st, calc := m.p.st, m.p.Config().Calculator
	_, tree := capacitiesOf(m.p.Config(), st, 0)
	for q := a.Queue; q != 0; q = st.Queues.Get(q).Parent {
		most := calc.RoundDown(tree.Capacities[must(m.p.Config().Lookup(st.Queues.Get(q).Path))].EffMax,
			m.p.Config().MinAlloc)
		if !calc.FitsIn(st.Queues.Get(q).Used.Add(size), most) ||
			calc.Compare(st.Meta.Cluster, st.Queues.Get(q).Used, most) >= 0 {
			return false
		}
	}
	if st.Kept.Len() > 0 { // the room may be kept for another queue
		return false
	}
	if calc.Compare(st.Meta.Cluster, st.Users.Get(a.UserSlot).Used,
		slowUserLimit(st, m.p.Config(), tree, a, 0, false)) > 0 {
		return false
	}
	fits := false
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		fits = fits || (n.Label == 0 && n.State == yarn.NodeRunning && n.Report != state.TakenBack && !a.Blacklisted(n) &&
			calc.FitsIn(size, n.Unallocated()) &&
			calc.AvailableContainers(n.Unallocated(), m.p.Config().MinAlloc) > 0)
		return true
	})
	return fits
}
