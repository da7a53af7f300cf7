package state

import (
	"slices"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for commands to nodes.

// TellCleanUps acknowledges some of a node's pending cleanups.
func (m *machine) TellCleanUps(t *rapid.T) {
	slot, n := pick(t, "node", &m.s.Nodes, func(n *Node) bool { return n.PendingCleanups > 0 })
	var told []yarn.ApplicationID
	for p := n.NodeApplications; p != 0; p = m.s.NodeApplications.Get(p).NextOnNode() {
		if r := m.s.NodeApplications.Get(p); r.Slot == 0 && rapid.Bool().Draw(t, "told") {
			told = append(told, r.App)
		}
	}
	slices.SortFunc(told, func(a, b yarn.ApplicationID) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	open := int(n.PendingCleanups)
	m.apply(t, &event.CleanupsAcked{Node: slot, Apps: told})
	if got := int(m.s.Nodes.Get(slot).PendingCleanups); got != open-len(told) {
		t.Fatalf("told %d of %d, %d left", len(told), open, got)
	}
}

// AckRemovals acknowledges some of the containers that a node may forget.
func (m *machine) AckRemovals(t *rapid.T) {
	slot, _ := pick(t, "node", &m.s.Nodes, func(n *Node) bool {
		return n.Removals != 0 && len(m.s.Removable.Get(n.Removals).Containers) > 0
	})
	first, list := m.s.Removals(slot)
	had := rapid.IntRange(1, len(list)).Draw(t, "had")
	m.apply(t, &event.RemovalsAcked{Node: slot, Through: first + uint64(had) - 1})
	if now, left := m.s.Removals(slot); now != first+uint64(had) || !slices.Equal(left, list[had:]) {
		t.Fatalf("of %v, %d were acknowledged; %v are left, from %d on", list, had, left, now)
	}
}

// EndAll ends an application with all its containers. The NodeManagers that ran them and send
// heartbeats must then have pending cleanups.
func (m *machine) EndAll(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return !a.State.Ended() && a.NodeApplications != 0 })
	seq, id, present, pending := a.ID.Seq, a.ID, map[NodeSlot]bool{}, map[NodeSlot]bool{}
	for p := a.NodeApplications; p != 0; p = m.s.NodeApplications.Get(p).NextApp {
		present[m.s.NodeApplications.Get(p).Node] = true
	}
	// of a forgotten application with the same id
	m.s.NodeApplications.Each(func(_ NodeApplicationSlot, p *NodeApplication) bool {
		if p.App == id && p.Slot == 0 {
			pending[p.Node] = true
		}
		return true
	})
	live, reservations := m.holdings(slot)
	for _, r := range reservations {
		m.apply(t, &event.ReservationCancelled{Reservation: r, Cause: yarn.CancelAttemptEnded})
	}
	m.endContainers(t, live)
	if m.s.Apps.Get(slot).AttemptState != AttemptNone && m.s.Apps.Get(slot).AttemptState != AttemptEnded {
		m.apply(t, &event.AttemptEnded{App: seq, Final: yarn.FinalKilled})
	}
	m.apply(t, &event.ApplicationEnded{App: seq, State: yarn.AppKilled, Final: yarn.FinalKilled})
	m.s.Nodes.Each(func(node NodeSlot, n *Node) bool {
		if must := pending[node] || present[node] && n.NodeManager &&
			n.Heard(); must != (m.s.NodeApplications.Find(id, node) != 0) {
			t.Fatalf("%s (%s, NodeManager %v) must be told of the end: %v", n.ID, n.State, n.NodeManager, must)
		}
		return true
	})
}

func (m *machine) Signal(t *rapid.T) {
	_, c := pick(t, "container", &m.s.Containers, func(c *Container) bool { return c.OnNode && c.State.Live() })
	command := uint8(rapid.IntRange(0, 3).Draw(t, "command"))
	if command == c.Signal {
		command = (command + 1) % 4
	}
	m.apply(t, &event.ContainerSignalled{Container: m.s.Apps.Ref(c), Command: command})
}

func (m *machine) ListHosts(t *rapid.T) {
	list := func(name string) []string {
		out := rapid.SliceOfN(rapid.SampledFrom(machineHosts), 0, 3).Draw(t, name)
		slices.Sort(out)
		return slices.Compact(out)
	}
	m.apply(t, &event.NodeListsSet{Include: list("include"), Exclude: list("exclude")})
}

func (m *machine) Access(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "token")
	if _, known := m.s.Access.Find(name); known && rapid.Bool().Draw(t, "revoke") {
		m.apply(t, &event.AccessTokenRevoked{Name: name})
		return
	}
	hash := accessHash(byte(m.events))
	hash[1], hash[2] = byte(m.events>>8), byte(m.events>>16)
	m.apply(t, &event.AccessTokenSet{Name: name, Hash: hash, Role: rapid.SampledFrom(yarn.Roles()).Draw(t, "role"),
		ExpiresMillis: m.s.Meta.NowMillis + 5})
}

func (m *machine) SetAutopilot(t *rapid.T) {
	m.apply(t, &event.AutopilotSet{CleanupDeadServers: rapid.Bool().Draw(t, "clean up"), DeadServerMillis: 60_000,
		LastContactMillis: 1 + int64(rapid.Uint8().Draw(t, "contact"))})
}
