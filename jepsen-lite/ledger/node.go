package ledger

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger/nodelabel"
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
	transitions []nodeTransition
	forgotten   bool // its number may be used by another node
	label       string
	silent      bool // it has missed heartbeats
}

// nodeTransition is a change of a node's state.
type nodeTransition struct {
	index uint64
	state yarn.NodeState
}

// nodes are the nodes, the labels that they may have, and their totals.
type nodes struct {
	*nouns
	list     []node           // by number; 0 is none
	placed   int              // number of containers that count on their node
	cluster  size             // total of the nodes without a label
	clusters map[string]*size // totals of the nodes with a label
	labels   nodelabel.Labels
	lent     []string // labels whose nodes were lent in the entry
}

func (l *nodes) node(number yarn.NodeSlot) (*node, bool) {
	if number == 0 || int(number) >= len(l.list) {
		return nil, false
	}
	return &l.list[number], true
}

func (l *nodes) nodeName(number yarn.NodeSlot) string {
	if n, ok := l.node(number); ok {
		return n.id.String()
	}
	return fmt.Sprintf("node %d", number)
}

// newestOn returns the newest containers on a node, which explain why it is full.
func (l *nodes) newestOn(n *node) []Step {
	const most = 12
	var out []Step
	for i := range l.apps.list {
		a := &l.apps.list[i]
		for k := range a.containers {
			if c := &a.containers[k]; c.onNode && &l.list[c.node] == n {
				out = append(out, l.step(c.made, "%s of %s is allocated on %s", a.id(c.attempt, c.number), c.size, n.id))
			}
		}
	}
	sortSteps(out)
	return out[max(0, len(out)-most):]
}

func (l *nodes) registered(e *event.NodeRegistered) {
	n, known := l.node(e.Node)
	switch {
	case known && n.forgotten:
		*n = node{id: e.ID}
	case known && n.id != e.ID:
		l.violate(Audit, nil, "node %d is %s and registers as %s", e.Node, n.id, e.ID)
		return
	case !known && int(e.Node) != len(l.list):
		l.violate(Audit, nil, "node %s registers as number %d, the next one is %d", e.ID, e.Node, len(l.list))
		return
	case !known:
		l.list = append(l.list, node{id: e.ID})
		n = &l.list[e.Node]
	}
	l.change(n, func() {
		n.label = l.labels.Of(n.id)
		n.rack, n.total = e.Rack, e.Total
		if n.set {
			n.total = n.setTotal
		}
		n.setState(l.index, yarn.NodeRunning)
	})
	n.silent = false
}

func (n *node) setState(index uint64, to yarn.NodeState) {
	if n.state != to {
		n.state = to
		n.transitions = append(n.transitions, nodeTransition{index, to})
	}
}

// size is the total of the usable nodes of a partition: now, and its highest value within the
// entry.
type size struct{ now, peak yarn.Resource }

func (s *size) add(r yarn.Resource) {
	s.now = s.now.Add(r)
	s.peak = yarn.ComponentMax(s.peak, s.now)
}

func (l *nodes) size(label string) *size {
	if label == "" {
		return &l.cluster
	}
	if l.clusters[label] == nil {
		l.clusters[label] = &size{}
	}
	return l.clusters[label]
}

// change calls f, which changes a node's total, state or label, and updates the totals of the
// partitions.
func (l *nodes) change(n *node, f func()) {
	if n.state.Usable() {
		l.size(n.label).add(zero.Sub(n.total))
	}
	f()
	if n.state.Usable() {
		l.size(n.label).add(n.total)
	}
}

func (l *nodes) nodeState(e *event.NodeStateChanged) {
	n, ok := l.node(e.Node)
	if !ok {
		l.violate(Audit, nil, "node %d, which there is not, becomes %s", e.Node, e.State)
		return
	}
	l.change(n, func() { n.setState(l.index, e.State) })
	if n.state.Usable() {
		return
	}
	if n.state != yarn.NodeUnhealthy { // it sends no heartbeats
		n.silent = false
	}
	if n.reservation != 0 {
		l.violate("S8", l.reservations.reservation(n.reservation).chain(l.nouns), "node %s is %s and r%d goes on holding it",
			n.id, n.state, n.reservation)
	}
	if n.count != 0 {
		l.violate("S7", l.newestOn(n), "node %s is %s with %d containers on it", n.id, n.state, n.count)
	}
}

// nodeForgotten checks that a forgotten node was not usable or unhealthy. The ledger keeps the
// record until another node gets the number.
func (l *nodes) nodeForgotten(e *event.NodeForgotten) {
	n, ok := l.node(e.Node)
	switch {
	case !ok || n.forgotten || n.id != e.ID:
		l.violate(Audit, nil, "node %s is forgotten as number %d, which is %s", e.ID, e.Node, l.nodeName(e.Node))
		return
	case n.state.Usable() || n.state == yarn.NodeUnhealthy:
		l.violate("S7", l.newestOn(n), "node %s is forgotten while it is %s", n.id, n.state)
	}
	n.forgotten = true
}

func (l *nodes) resized(e *event.NodeResourceChanged) {
	n, ok := l.node(e.Node)
	if !ok {
		l.violate(Audit, nil, "node %d, which there is not, is given %s", e.Node, e.Total)
		return
	}
	l.change(n, func() { n.total = e.Total })
	if e.Set {
		n.set, n.setTotal = true, e.Total
	}
	if r := l.reservations.reservation(n.reservation); r != nil && !l.fits(r.size, n.total) {
		l.violate("S8", r.chain(l.nouns), "node %s has %s in all and r%d of %s goes on holding it", n.id, n.total,
			r.number, r.size)
	}
}
