package logsim

import (
	"fmt"

	"rmd/fsm/state"
)

// differ compares the books with a state at the same index; empty: they agree.
func (b *books) differ(st *state.State) string {
	out := ""
	say := func(format string, args ...any) bool {
		out = fmt.Sprintf(format, args...)
		return false
	}
	live, onNode := 0, 0
	st.Containers.Each(func(_ uint32, c *state.Container) bool {
		ref := st.Ref(c)
		k := b.containers[ref]
		if k == nil || k.promised || k.live != c.State.Live() || k.onNode != c.OnNode || k.size != c.Size || k.node != c.Node {
			return say("S9: container %+v is %s of %s on node %d, at it %v; the books have %+v", ref, c.State, c.Size, c.Node, c.OnNode, k)
		}
		live += one(k.live)
		onNode += one(k.onNode)
		return true
	})
	if out == "" && (live != b.live || onNode != b.onNode) {
		say("S9: %d live containers, %d on their nodes; the books have %d and %d", live, onNode, b.live, b.onNode)
	}
	st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		k := b.nodes[slot]
		held := uint64(0)
		if n.Reservation != 0 {
			held = st.Reservations.Get(n.Reservation).Number
		}
		if out == "" && (k == nil || n.Allocated != k.used || n.Total != k.total || held != k.reservation) {
			return say("S7: node %s gives %s of %s and is reserved by %d; the books have %+v", n.ID, n.Allocated, n.Total, held, k)
		}
		return out == ""
	})
	st.Queues.Each(func(_ uint32, q *state.Queue) bool {
		if out == "" && q.Used != b.queues[q.Path] {
			return say("S9: queue %s uses %s; the books have %s", q.Path, q.Used, b.queues[q.Path])
		}
		return out == ""
	})
	if out == "" && st.Reservations.Len() != len(b.reservations) {
		say("S8: %d reservations; the books have %d", st.Reservations.Len(), len(b.reservations))
	}
	return out
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
