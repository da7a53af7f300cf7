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

// everything is the position of an attempt that must be told of every unusable node.
const everything = ^uint64(0)

// nodeLog is the order in which this replica saw nodes become usable or unusable. It compares the
// states of all nodes when a node has changed. Each attempt has a position in it. An attempt
// therefore costs one number, and a change costs one entry, however many attempts there are.
type nodeLog struct {
	limit int

	mu      sync.Mutex
	looked  bool
	changes uint64 // state.Meta.NodeChanges at the last comparison
	since   int64  // log time of the first comparison
	seen    []yarn.NodeState
	base    uint64 // position of the first entry
	entries []nodeChange
}

// nodeChange is a change of a node and the log time at which it was seen.
type nodeChange struct {
	node state.NodeSlot
	at   int64
}

// usability returns the update type for a node state. AMs are told when it changes.
func usability(s yarn.NodeState) proto.NodeUpdateTypeProto {
	switch s {
	case yarn.NodeRunning:
		return proto.NodeUpdateTypeProto_NODE_USABLE
	case yarn.NodeDecommissioning:
		return proto.NodeUpdateTypeProto_NODE_DECOMMISSIONING
	}
	return proto.NodeUpdateTypeProto_NODE_UNUSABLE
}

// look records what has changed up to a state. It ignores a state older than the last one.
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
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		for int(slot) >= len(l.seen) {
			l.seen = append(l.seen, 0)
		}
		was := l.seen[slot]
		l.seen[slot] = n.State
		// A new node that is unusable is no news for AMs.
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

// begin returns the position of an attempt that calls here for the first time: the begin of the
// attempt, if the log goes back that far. Otherwise an AM that has received nothing needs no
// changes, and any other AM must be told of every unusable node.
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

// after returns the nodes that have changed after a position, sorted by number, and the next
// position. If the state is older than the log, it returns no nodes and the same position.
func (l *nodeLog) after(st *state.State, position uint64) ([]state.NodeSlot, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked(st)
	end := l.base + uint64(len(l.entries))
	if position == end || st.Meta.NodeChanges < l.changes {
		return nil, position
	}
	var nodes []state.NodeSlot
	if position < l.base || position > end {
		for slot, s := range l.seen {
			if s != 0 && usability(s) != proto.NodeUpdateTypeProto_NODE_USABLE {
				nodes = append(nodes, state.NodeSlot(slot))
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

// nodeReports returns the reports of nodes in their present state.
func nodeReports(st *state.State, nodes []state.NodeSlot) []*proto.NodeReportProto {
	kinds := st.Versions.Kinds()
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
