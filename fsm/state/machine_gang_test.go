package state

import (
	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for gangs. Their asks use a key that no other action uses.

var machineGang = yarn.SchedulerKey{Priority: 40}

// DeclareGang declares a gang and usually asks for all its members. Otherwise few gangs would wait.
func (m *machine) DeclareGang(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return !a.State.Ended() && a.Reservations == 0 })
	if m.s.gangBusy(slot) {
		t.Skip("it is busy")
	}
	members := rapid.Int64Range(1, 3).Draw(t, "members")
	m.apply(t, &event.GangDeclared{App: a.ID.Seq,
		Gang: yarn.Gang{Priority: machineGang.Priority, AnyRequest: true, Count: members, TimeoutMillis: 5000}})
	if a := m.s.Apps.Get(slot); a.Open() && rapid.IntRange(0, 3).Draw(t, "ask") > 0 {
		m.apply(t, &event.AskChanged{App: a.ID.Seq, Key: machineGang, Name: yarn.Any, Count: members,
			Size: gb(1), Relax: true})
	}
}

// AskForGang changes the number of a gang's members for which the attempt asks.
func (m *machine) AskForGang(t *rapid.T) {
	slot, _ := pick(t, "gang", &m.s.Gangs, func(*Gang) bool { return true })
	a := m.s.Apps.Get(slot)
	if !a.Open() || m.s.gangBusy(slot) {
		t.Skip("it cannot ask")
	}
	m.apply(t, &event.AskChanged{App: a.ID.Seq, Key: machineGang, Name: yarn.Any,
		Count: rapid.Int64Range(0, 5).Draw(t, "count"), Size: gb(1), Relax: true})
}

// waiting picks a waiting gang and a node with room for all members. It uses the size of the ask,
// which may have changed: an ask that was restored has the size of its container.
func (m *machine) waiting(t *rapid.T, room func(n *Node) yarn.Resource) (app AppSlot, g *Gang, node NodeSlot) {
	app, g = pick(t, "waiting gang", &m.s.Gangs, func(g *Gang) bool { return g.State == GangWaiting })
	if !m.s.Apps.Get(app).Activated() {
		t.Skip("it is not active")
	}
	size := m.s.Asks.Get(m.s.Asks.Find(m.s.Apps.Get(app), machineGang)).Size.Times(g.Spec.Count)
	node,
		_ = pick(t, "node", &m.s.Nodes,
		func(n *Node) bool { return n.State.Usable() && n.Reservation == 0 && m.within(size, room(n)) })
	return app, g, node
}

func (m *machine) ReserveForGang(t *rapid.T) {
	app, g, node := m.waiting(t, func(n *Node) yarn.Resource { return n.Total })
	a := m.s.Apps.Get(app)
	m.apply(t, &event.GangReserved{Reservation: m.s.Meta.NextReservation + 1, App: a.ID.Seq,
		Number: m.s.Meta.NextNumber(a), Node: node,
		Members: uint32(g.Spec.Count), ExpectedMillis: m.s.Meta.NowMillis + 7})
	if members, nodes := m.s.GangReserved(app); members < g.Spec.Count || nodes == 0 {
		t.Fatalf("it holds %d nodes for %d", nodes, members)
	}
}

func (m *machine) StartGang(t *rapid.T) {
	app, g, node := m.waiting(t, func(n *Node) yarn.Resource { return n.Unallocated() })
	if m.s.gangReserves(app) {
		t.Skip("it holds nodes")
	}
	seq, count := m.s.Apps.Get(app).ID.Seq, g.Spec.Count
	m.apply(t, &event.GangStarted{App: seq})
	for range count {
		m.apply(t, &event.ContainerAllocated{App: seq, Number: m.s.Meta.NextNumber(m.s.Apps.Get(app)), Key: machineGang,
			Node: node, Locality: yarn.OffSwitch})
	}
	if g := m.s.Gangs.Get(app); g.State != GangServed || g.Left != 0 {
		t.Fatalf("it is %+v", g)
	}
}

func (m *machine) EndGang(t *rapid.T) {
	slot, _ := pick(t, "gang", &m.s.Gangs, func(*Gang) bool { return true })
	if m.s.gangBusy(slot) {
		t.Skip("it is busy")
	}
	m.apply(t, &event.GangEnded{App: m.s.Apps.Get(slot).ID.Seq,
		Cause: drawOf(t, "cause", []yarn.GangEnd{yarn.GangTimedOut, yarn.GangWithdrawn})})
}
