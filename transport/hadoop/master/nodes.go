package master

import (
	"slices"
	"sort"
	"strconv"
	"sync"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// everything is the position of an attempt that is to be told of every node that
// cannot be used.
const everything = ^uint64(0)

// nodeLog is the order in which this replica saw nodes become usable or not,
// made by comparing the states of all nodes when some has changed. An attempt
// keeps a position in it; so an attempt costs a number, and a change its node's
// number, however many attempts there are.
type nodeLog struct {
	limit int

	mu      sync.Mutex
	looked  bool
	changes uint64 // state.Meta.NodeChanges at the last look
	since   int64  // log time of the first look
	seen    []yarn.NodeState
	base    uint64 // position of the first entry
	entries []nodeChange
}

// nodeChange is a node and the log time at which it was seen to have changed.
type nodeChange struct {
	node uint32
	at   int64
}

// usability is what AMs are told the changes of.
func usability(s yarn.NodeState) proto.NodeUpdateTypeProto {
	switch s {
	case yarn.NodeRunning:
		return proto.NodeUpdateTypeProto_NODE_USABLE
	case yarn.NodeDecommissioning:
		return proto.NodeUpdateTypeProto_NODE_DECOMMISSIONING
	}
	return proto.NodeUpdateTypeProto_NODE_UNUSABLE
}

// look notes what has changed up to a state; a state older than the last one is
// passed over.
func (l *nodeLog) look(st *state.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked(st)
}

func (l *nodeLog) lookLocked(st *state.State) {
	if l.looked && st.Meta.NodeChanges <= l.changes {
		return
	}
	first := !l.looked
	if first {
		l.looked, l.since = true, st.Meta.NowMillis
	}
	l.changes = st.Meta.NodeChanges
	st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		for int(slot) >= len(l.seen) {
			l.seen = append(l.seen, 0)
		}
		was := l.seen[slot]
		l.seen[slot] = n.State
		// A node that comes new and cannot be used is no news for anybody.
		known := was != 0 || usability(n.State) != proto.NodeUpdateTypeProto_NODE_UNUSABLE
		if !first && known && (was == 0 || usability(was) != usability(n.State)) {
			l.entries = append(l.entries, nodeChange{slot, st.Meta.NowMillis})
		}
		return true
	})
	if over := len(l.entries) - l.limit; over > 0 {
		over = max(over, l.limit/2)
		l.entries = append([]nodeChange(nil), l.entries[over:]...)
		l.base += uint64(over)
	}
}

// begin is the position of an attempt that calls here for the first time: from
// its own beginning on, as far as the log reaches back. Beyond that an AM that
// knows nothing needs to be told nothing, and any other is told of every node
// that cannot be used.
func (l *nodeLog) begin(attemptMillis int64, fresh bool) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.base + uint64(len(l.entries))
	if l.since <= attemptMillis && (l.base == 0 || len(l.entries) > 0 && l.entries[0].at < attemptMillis) {
		i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].at >= attemptMillis })
		return l.base + uint64(i)
	}
	if fresh {
		return end
	}
	return everything
}

// after lists the nodes that have changed after a position, by number, and the
// position to go on from. It tells nothing, and does not go on, with a state
// that is older than the log.
func (l *nodeLog) after(st *state.State, position uint64) ([]uint32, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked(st)
	end := l.base + uint64(len(l.entries))
	if position == end || st.Meta.NodeChanges < l.changes {
		return nil, position
	}
	var nodes []uint32
	if position < l.base || position > end {
		for slot, s := range l.seen {
			if s != 0 && usability(s) != proto.NodeUpdateTypeProto_NODE_USABLE {
				nodes = append(nodes, uint32(slot))
			}
		}
		return nodes, end
	}
	for _, e := range l.entries[position-l.base:] {
		nodes = append(nodes, e.node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), end
}

// nodeReports tells of nodes as they are now.
func nodeReports(st *state.State, nodes []uint32) []*proto.NodeReportProto {
	kinds := st.Kinds()
	out := make([]*proto.NodeReportProto, 0, len(nodes))
	for _, slot := range nodes {
		if !st.Nodes.Has(slot) {
			continue
		}
		n := st.Nodes.Get(slot)
		r := &proto.NodeReportProto{
			NodeId:         wire.NodeIDProto(n.ID),
			HttpAddress:    new(n.ID.Host + ":" + strconv.Itoa(int(n.HTTPPort))),
			RackName:       new(n.Rack),
			Used:           wire.ResourceProto(n.Allocated, kinds),
			Capability:     wire.ResourceProto(n.Total, kinds),
			NumContainers:  new(n.Count),
			NodeState:      wire.NodeStateProto(n.State).Enum(),
			NodeLabels:     wire.NodeLabels(st, n.Label),
			HealthReport:   new(n.Report),
			NodeUpdateType: usability(n.State).Enum(),
		}
		if left, ok := n.DrainMillis(st.Meta.NowMillis); ok {
			r.DecommissioningTimeout = new(wire.Seconds(left))
		}
		out = append(out, r)
	}
	return out
}
