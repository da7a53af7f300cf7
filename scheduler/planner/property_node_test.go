package planner

import (
	"slices"

	"pgregory.net/rapid"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// The actions of this file are about reports from nodes and orders to them.

// had draws the orders that a node acknowledges. Some of them it never received.
func (m *machine) had(t *rapid.T, in *input.NodeHeartbeat) {
	if rapid.IntRange(0, 3).Draw(t, "answers") > 0 {
		return
	}
	n := m.p.st.Nodes.Get(m.p.st.Nodes.Find(in.ID))
	for slot := n.NodeApplications; slot != 0; slot = m.p.st.NodeApplications.Get(slot).NextOnNode() {
		if rapid.Bool().Draw(t, "told") {
			in.CleanupsAcked = append(in.CleanupsAcked, m.p.st.NodeApplications.Get(slot).App)
		}
	}
	in.CleanupsAcked = append(in.CleanupsAcked, slices.Clone(in.CleanupsAcked)...)
	for _, c := range containersOn(m.p, m.p.st.Nodes.Find(in.ID)) {
		if rapid.Bool().Draw(t, "signalled") {
			in.SignalsAcked = append(in.SignalsAcked, m.p.st.Apps.ContainerID(m.p.st.Containers.Get(c)))
		}
	}
}

// nodeSlots draws the slot of a node, which need not exist.
var nodeSlots = rapid.Map(rapid.Uint32Range(0, 6), func(n uint32) state.NodeSlot { return state.NodeSlot(n) })

// heard sends a batch of heartbeats that report nothing.
func (m *machine) heard(t *rapid.T) {
	in := &input.NodesHeard{Nodes: rapid.SliceOfN(nodeSlots, 0, 6).Draw(t, "numbers")}
	m.plan(in)
	// The state has changed since the turn of the earlier ones.
	if n := len(in.Nodes); n > 0 && m.p.st.Nodes.Has(in.Nodes[n-1]) {
		m.checkServed(m.p.st.Nodes.Get(in.Nodes[n-1]).ID)
	}
}

// silence marks nodes that have missed heartbeats, and ends such marks. Some of the nodes do not
// exist, or are silent already.
func (m *machine) silence(t *rapid.T) {
	in := &input.NodeSilence{Heard: rapid.SliceOfN(nodeSlots, 0, 2).Draw(t, "heard")}
	for _, n := range rapid.SliceOfN(nodeSlots, 0, 3).Draw(t, "silent") {
		in.Silent = append(in.Silent, input.SilentNode{Node: n, SinceMillis: rapid.Int64Range(0, m.now+10).Draw(t, "since")})
	}
	m.plan(in)
	for _, n := range in.Heard {
		if m.p.st.Nodes.Has(n) && m.p.st.Nodes.Get(n).Silent() {
			m.fail("%s is heard and silent", m.p.st.Nodes.Get(n).ID)
		}
	}
}

func (m *machine) container(t *rapid.T) (yarn.ContainerID, bool) {
	var all []yarn.ContainerID
	m.p.st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		all = append(all, m.p.st.Apps.ContainerID(c))
		return true
	})
	if len(all) == 0 {
		return yarn.ContainerID{}, false
	}
	return rapid.SampledFrom(all).Draw(t, "container"), true
}

func (m *machine) signal(t *rapid.T) {
	if id, ok := m.container(t); ok {
		m.plan(&input.SignalContainer{Container: id, Command: uint8(rapid.IntRange(0, 4).Draw(t, "command"))})
	}
}

// unused expires containers. Only containers that their AM has acquired and that have not started
// may end.
func (m *machine) unused(t *rapid.T) {
	id, ok := m.container(t)
	if !ok {
		return
	}
	before := *m.p.st.Containers.Get(containerOn(m.p, m.nodeOf(id), id))
	m.plan(&input.ExpireContainers{Containers: []yarn.ContainerID{id, {}, id}})
	slot := containerOn(m.p, m.nodeOf(id), id)
	if gone := slot == 0 || m.p.st.Containers.Get(slot).State != before.State; gone != before.Unstarted() {
		m.fail("%s, which was %+v, expired: %v", id, before, gone)
	}
}

func (m *machine) nodeOf(id yarn.ContainerID) state.NodeSlot {
	var node state.NodeSlot
	m.p.st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		if m.p.st.Apps.ContainerID(c) == id {
			node = c.Node
		}
		return node == 0
	})
	return node
}

// hostLists refuses a few hosts, often none. A refused host must not serve.
func (m *machine) hostLists(t *rapid.T) {
	in := &input.SetHosts{Graceful: rapid.Bool().Draw(t, "graceful"),
		TimeoutMillis: rapid.SampledFrom([]int64{0, 500}).Draw(t, "timeout")}
	in.Exclude = rapid.SliceOfN(rapid.SampledFrom([]string{"H0", " h1", "h4"}), 0, 2).Draw(t, "exclude")
	if rapid.IntRange(0, 5).Draw(t, "listed") == 0 {
		in.Include = slices.Clone(hosts[:4])
	}
	m.plan(in)
	m.p.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.Serving() && !m.p.st.Hosts.Allowed(n.ID.Host) {
			m.fail("%s is refused and serves", n.ID)
		}
		return true
	})
	again := len(m.log)
	if r := m.plan(in).(*input.SetHostsReply); len(r.Leaving)+len(r.Returning) > 0 || len(m.log) != again {
		m.fail("the same lists once more: %+v", r)
	}
}

// checkFull checks that a container that a full report does not name has ended, if it was launched.
func (m *machine) checkFull(in *input.NodeHeartbeat) {
	slot := m.p.st.Nodes.Find(in.ID)
	if !in.Full || in.Unhealthy || !m.p.st.Nodes.Get(slot).Heard() {
		return
	}
	for _, c := range containersOn(m.p, slot) {
		k := m.p.st.Containers.Get(c)
		named := slices.ContainsFunc(in.Statuses,
			func(s input.ContainerStatus) bool { return s.Container == m.p.st.Apps.ContainerID(k) })
		if k.Launched && !named {
			m.fail("%s was launched on %s, which does not name it", m.p.st.Apps.ContainerID(k), in.ID)
		}
	}
}
