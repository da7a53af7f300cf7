package ledger

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/yarn"
)

type node struct {
	id          yarn.NodeID
	rack        string
	state       yarn.NodeState
	total, used yarn.Resource
	set         bool // an administrator set the total
	setTotal    yarn.Resource
	reservation uint64
	count       int
	turns       []nodeTurn
}

// nodeTurn is a change of a node's state.
type nodeTurn struct {
	index uint64
	state yarn.NodeState
}

func (m *Model) node(number uint32) (*node, bool) {
	if number == 0 || int(number) >= len(m.nodes) {
		return nil, false
	}
	return &m.nodes[number], true
}

func (m *Model) nodeName(number uint32) string {
	if n, ok := m.node(number); ok {
		return n.id.String()
	}
	return fmt.Sprintf("node %d", number)
}

// onNode is the newest containers on a node: how it came to be full.
func (m *Model) onNode(n *node) []Step {
	const most = 12
	var out []Step
	for i := range m.apps {
		a := &m.apps[i]
		for k := range a.containers {
			if c := &a.containers[k]; c.onNode && &m.nodes[c.node] == n {
				out = append(out, m.step(c.made, "%s of %s is allocated on %s", a.id(c.attempt, c.number), c.size, n.id))
			}
		}
	}
	sortSteps(out)
	return out[max(0, len(out)-most):]
}

func (m *Model) registered(e *event.NodeRegistered) {
	n, known := m.node(e.Node)
	switch {
	case known && n.id != e.ID:
		m.bad(Audit, nil, "node %d is %s and registers as %s", e.Node, n.id, e.ID)
		return
	case !known && int(e.Node) != len(m.nodes):
		m.bad(Audit, nil, "node %s registers as number %d, the next one is %d", e.ID, e.Node, len(m.nodes))
		return
	case !known:
		m.nodes = append(m.nodes, node{id: e.ID})
		n = &m.nodes[e.Node]
	}
	m.change(n, func() {
		n.rack, n.total = e.Rack, e.Total
		if n.set {
			n.total = n.setTotal
		}
		n.turn(m.index, yarn.NodeRunning)
	})
}

func (n *node) turn(index uint64, to yarn.NodeState) {
	if n.state != to {
		n.state = to
		n.turns = append(n.turns, nodeTurn{index, to})
	}
}

// change alters a node's total or state and keeps the cluster's total.
func (m *Model) change(n *node, f func()) {
	if n.state.Usable() {
		m.cluster = m.cluster.Sub(n.total)
	}
	f()
	if n.state.Usable() {
		m.cluster = m.cluster.Add(n.total)
	}
	m.entryPeak = yarn.ComponentMax(m.entryPeak, m.cluster)
}

func (m *Model) nodeState(e *event.NodeStateChanged) {
	n, ok := m.node(e.Node)
	if !ok {
		m.bad(Audit, nil, "node %d, which there is not, becomes %s", e.Node, e.State)
		return
	}
	m.change(n, func() { n.turn(m.index, e.State) })
	if n.state.Usable() {
		return
	}
	if n.reservation != 0 {
		m.bad("S8", m.reservation(n.reservation).chain(m), "node %s is %s and r%d goes on holding it", n.id, n.state, n.reservation)
	}
	if n.count != 0 {
		m.bad("S7", m.onNode(n), "node %s is %s with %d containers on it", n.id, n.state, n.count)
	}
}

func (m *Model) resized(e *event.NodeResourceChanged) {
	n, ok := m.node(e.Node)
	if !ok {
		m.bad(Audit, nil, "node %d, which there is not, is given %s", e.Node, e.Total)
		return
	}
	m.change(n, func() { n.total = e.Total })
	if e.Set {
		n.set, n.setTotal = true, e.Total
	}
	if r := m.reservation(n.reservation); r != nil && !m.fits(r.size, n.total) {
		m.bad("S8", r.chain(m), "node %s has %s in all and r%d of %s goes on holding it", n.id, n.total, r.number, r.size)
	}
}
