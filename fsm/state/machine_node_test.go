package state

import (
	"fmt"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for nodes, containers, reservations and the cluster.

func (m *machine) RegisterNode(t *rapid.T) {
	id := yarn.NodeID{Host: drawOf(t, "host", machineHosts), Port: 1}
	node := m.s.Nodes.Find(id)
	if node == 0 {
		node = m.s.Nodes.Next()
	}
	m.apply(t, &event.NodeRegistered{Node: node, ID: id, HTTPPort: 8042, Rack: drawOf(t, "rack", []string{"/r1", "/r2"}),
		Total: gb(rapid.Int64Range(4, 12).Draw(t, "total")), Version: "3",
		NodeManager:      rapid.IntRange(0, 3).Draw(t, "simulated") > 0,
		Address:          drawOf(t, "address", []string{"", "10.0.0.1", "10.0.0.2"}),
		HeartbeatSession: rapid.Uint64().Draw(t, "session")})
}

func (m *machine) HearNode(t *rapid.T) {
	slot, _ := pick(t, "node", &m.s.Nodes, func(*Node) bool { return true })
	m.apply(t, &event.NodeHeard{Node: slot, HeartbeatSession: rapid.Uint64Min(1).Draw(t, "session"),
		Response: rapid.Int32Min(0).Draw(t, "response")})
}

func (m *machine) ChangeNodeSilence(t *rapid.T) {
	slot, n := pick(t, "node", &m.s.Nodes, func(n *Node) bool { return n.Heard() && (n.Silent() || n.Reservation == 0) })
	since := int64(0)
	if !n.Silent() {
		since = rapid.Int64Range(1, m.s.Meta.NowMillis).Draw(t, "since")
	}
	m.apply(t, &event.NodeSilenceChanged{Node: slot, SinceMillis: since})
}

func (m *machine) ChangeNodeState(t *rapid.T) {
	slot, n := pick(t, "node", &m.s.Nodes, func(*Node) bool { return true })
	to := yarn.NodeState(rapid.IntRange(int(yarn.NodeRunning), int(yarn.NodeShutdown)).Draw(t, "state"))
	if !to.Usable() && (n.Reservation != 0 || n.Count > 0) {
		t.Skip("it holds something")
	}
	m.apply(t, &event.NodeStateChanged{Node: slot, State: to, DeadlineMillis: 5, Report: "r"})
}

// LoseNode ends all containers and the reservation of a node, and then loses the node.
func (m *machine) LoseNode(t *rapid.T) {
	slot,
		n := pick(t, "node", &m.s.Nodes,
		func(n *Node) bool { return n.State.Usable() && (n.Count > 0 || n.Reservation != 0) })
	var refs []event.ContainerRef
	for _, c := range m.s.Containers.On(n) {
		refs = append(refs, m.s.Apps.Ref(c))
	}
	if n.Reservation != 0 {
		m.apply(t, &event.ReservationCancelled{Reservation: m.s.Reservations.Get(n.Reservation).Number,
			Cause: yarn.CancelNodeNotRunning})
	}
	for _, r := range refs {
		m.apply(t, &event.ContainerCompleted{Container: r, ExitStatus: yarn.ExitAborted,
			Restore: m.restorable(m.s.Container(r))})
	}
	m.apply(t, &event.NodeStateChanged{Node: slot, State: yarn.NodeLost})
}

func (m *machine) ForgetNode(t *rapid.T) {
	slot, n := pick(t, "node", &m.s.Nodes, func(n *Node) bool { return !n.Heard() })
	if !m.s.Forgettable(slot) {
		t.Skip("it is not to be forgotten")
	}
	m.apply(t, &event.NodeForgotten{Node: slot, ID: n.ID})
}

func (m *machine) ResizeNode(t *rapid.T) {
	slot, n := pick(t, "node", &m.s.Nodes, func(*Node) bool { return true })
	total := gb(rapid.Int64Range(0, 12).Draw(t, "total"))
	if n.Reservation != 0 && !m.within(m.s.Reservations.Get(n.Reservation).Size, total) {
		t.Skip("smaller than its reservation")
	}
	m.apply(t, &event.NodeResourceChanged{Node: slot, Total: total, Set: rapid.Bool().Draw(t, "by an administrator")})
}

// wanting draws an ask for which a container may be allocated, with its application.
func (m *machine) wanting(t *rapid.T) (*App, *Ask) {
	_, k := pick(t, "ask", &m.s.Asks, func(k *Ask) bool {
		return k.IncreaseOf == 0 && k.Count > 0 && !m.s.Gangs.HoldsBack(k) && m.s.Apps.Get(k.App).Activated()
	})
	return m.s.Apps.Get(k.App), k
}

func drawLocality(t *rapid.T) yarn.Locality {
	return yarn.Locality(rapid.IntRange(int(yarn.NodeLocal), int(yarn.OffSwitch)).Draw(t, "locality"))
}

func (m *machine) Allocate(t *rapid.T) {
	a, k := m.wanting(t)
	node, _ := pick(t, "node", &m.s.Nodes, func(n *Node) bool {
		return n.State.Usable() && n.Reservation == 0 && m.within(k.Size, n.Unallocated())
	})
	m.apply(t, &event.ContainerAllocated{App: a.ID.Seq, Number: m.s.Meta.NextNumber(a), Key: k.Key, Node: node,
		Locality: drawLocality(t), AM: k.AM})
}

func (m *machine) AllocateMore(t *rapid.T) { m.Allocate(t) }

func (m *machine) Reserve(t *rapid.T) {
	a, k := m.wanting(t)
	node, _ := pick(t, "node", &m.s.Nodes, func(n *Node) bool {
		return n.State.Usable() && n.Reservation == 0 && m.within(k.Size, n.Total) && !m.within(k.Size, n.Unallocated())
	})
	m.apply(t, &event.ReservationMade{Reservation: m.s.Meta.NextReservation + 1, App: a.ID.Seq,
		Number: m.s.Meta.NextNumber(a), Key: k.Key, Node: node, AM: k.AM})
}

// Crowd asks for one more container than fits on a node, so that it can be reserved.
func (m *machine) Crowd(t *rapid.T) {
	node, n := pick(t, "node", &m.s.Nodes, func(n *Node) bool {
		return n.State.Usable() && n.Reservation == 0 && !n.Unallocated().Negative() &&
			n.Total[yarn.Memory] > 4096 && n.Count > 0
	})
	_, a := pick(t, "application", &m.s.Apps, (*App).Activated)
	seq, size := a.ID.Seq, n.Total
	key := drawOf(t, "key", machineKeys)
	m.apply(t, &event.AskChanged{App: seq, Key: key, Name: yarn.Any, Count: 2, Size: size})
	if n := m.s.Nodes.Get(node); m.within(size, n.Unallocated()) {
		t.Skip("it has room")
	}
	a = m.s.Apps.Get(m.s.Apps.Find(seq))
	m.apply(t, &event.ReservationMade{Reservation: m.s.Meta.NextReservation + 1, App: seq, Number: m.s.Meta.NextNumber(a),
		Key: key, Node: node})
}

func (m *machine) Fulfill(t *rapid.T) {
	_, r := pick(t, "reservation", &m.s.Reservations, m.fulfillable)
	m.apply(t, &event.ReservationFulfilled{Reservation: r.Number, Locality: drawLocality(t)})
}

// EmptyReserved ends the containers on a reserved node and usually fulfils the reservation if
// possible.
func (m *machine) EmptyReserved(t *rapid.T) {
	slot, n := pick(t, "node", &m.s.Nodes, func(n *Node) bool { return n.Reservation != 0 })
	var refs []event.ContainerRef
	for _, c := range m.s.Containers.On(n) {
		refs = append(refs, m.s.Apps.Ref(c))
	}
	for _, r := range refs {
		m.apply(t, &event.ContainerCompleted{Container: r})
	}
	r := m.s.Reservations.Get(m.s.Nodes.Get(slot).Reservation)
	if m.fulfillable(r) && rapid.IntRange(0, 3).Draw(t, "wait") > 0 {
		m.apply(t, &event.ReservationFulfilled{Reservation: r.Number, Locality: drawLocality(t)})
	}
}

func (m *machine) fulfillable(r *Reservation) bool {
	n, a := m.s.Nodes.Get(r.Node), m.s.Apps.Get(r.App)
	k := m.s.Asks.Get(m.s.AskFor(a, r.Key, r.IncreaseOf))
	return n.State.Usable() && k.Count > 0 && k.Size == r.Size && m.within(r.Size, n.Unallocated())
}

func (m *machine) Cancel(t *rapid.T) {
	_, r := pick(t, "reservation", &m.s.Reservations, func(*Reservation) bool { return true })
	cause := yarn.CancelCause(rapid.IntRange(int(yarn.CancelAskGone), int(yarn.CancelOperator)).Draw(t, "cause"))
	app, key, node := r.App, r.Key, r.Node
	m.apply(t, &event.ReservationCancelled{Reservation: r.Number, Cause: cause})
	if cause == yarn.CancelOperator && !m.s.ReservationBans.Forbids(m.s.Nodes.Get(node), app, key) {
		t.Fatal("an operator's cancellation bans the key from the node")
	}
}

func (m *machine) CancelByOperator(t *rapid.T) {
	_, r := pick(t, "reservation", &m.s.Reservations, func(*Reservation) bool { return true })
	m.apply(t, &event.ReservationCancelled{Reservation: r.Number, Cause: yarn.CancelOperator})
}

func (m *machine) Launch(t *rapid.T) {
	_, c := pick(t, "container", &m.s.Containers, func(c *Container) bool { return c.State.Live() && !c.Launched })
	m.apply(t, &event.ContainerLaunched{Container: m.s.Apps.Ref(c)})
}

func (m *machine) Release(t *rapid.T) {
	_, c := pick(t, "container", &m.s.Containers, func(c *Container) bool { return c.State.Live() })
	m.apply(t, &event.ContainerReleased{Container: m.s.Apps.Ref(c), ExitStatus: yarn.ExitAborted,
		Diagnostics: drawOf(t, "why", []string{"", "released"})})
}

// restorable reports whether a container's ask may be restored.
func (m *machine) restorable(slot ContainerSlot) bool {
	c := m.s.Containers.Get(slot)
	a := m.s.Apps.Get(c.App)
	return c.State.Live() && c.GrantedIn == 0 && a.Open() && c.Attempt == a.Attempt
}

func (m *machine) Complete(t *rapid.T) {
	slot, c := pick(t, "container", &m.s.Containers, func(c *Container) bool { return c.State != yarn.ContainerCompleted })
	m.apply(t, &event.ContainerCompleted{Container: m.s.Apps.Ref(c), ExitStatus: 7,
		Diagnostics: drawOf(t, "why", []string{"", "done"}),
		Restore:     m.restorable(slot) && rapid.Bool().Draw(t, "restore")})
}

func (m *machine) Time(t *rapid.T) {
	by := drawOf(t, "by", []int64{0, 1, 1000, RequestKeepMillis})
	m.apply(t, &event.TimeAdvanced{NowMillis: m.s.Meta.NowMillis + by})
}

func (m *machine) Requests(t *rapid.T) {
	n := m.s.Requests.Len()
	if rapid.Bool().Draw(t, "record") {
		m.apply(t, &event.RequestRecorded{Key: fmt.Sprintf("c/%d", m.events), BodyHash: uint64(n), Reply: []byte("r")})
		return
	}
	m.apply(t, &event.RequestsForgotten{Count: rapid.Uint32Max(uint32(n)).Draw(t, "count")})
}

func (m *machine) Tokens(t *rapid.T) {
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		m.apply(t, &event.JoinTokensExpired{})
	case 1:
		for _, tok := range m.s.JoinTokens {
			if tok.UsedBy == "" {
				m.apply(t, &event.JoinTokenUsed{Hash: tok.Hash, By: "r2"})
				return
			}
		}
		t.Skip("no token")
	default:
		m.nextToken++
		m.apply(t, &event.JoinTokenCreated{Hash: []byte{1, m.nextToken}, ExpiresMillis: m.s.Meta.NowMillis + 500,
			CreatedBy: "x"})
	}
}

func (m *machine) Rare(t *rapid.T) {
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		m.apply(t, &event.LevelRaised{Level: m.s.Meta.Level + 1})
	case 1:
		m.apply(t, &event.EpochRaised{Epoch: m.s.Meta.Epoch + 1, ClusterTimestamp: m.s.Meta.ClusterTimestamp + 1,
			Why: "restored"})
	default:
		m.apply(t, &event.Audited{Who: "w", From: "f", Action: "a", Target: "t", Result: "ok"})
	}
}
