package tracker

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// A NodeManager keeps a completed container until it is told to forget it, and answers
// getContainerStatuses with the container's exit status. It reports the end once. The containers
// that it may forget are in the state (state.Removals), so any replica can tell the node.

// unackedMax is the number of removals after which a heartbeat goes to the leader only to
// acknowledge them. A smaller number is acknowledged with the next heartbeat that goes to the
// leader anyway. Until then another replica may tell the node again, which is harmless.
const unackedMax = 100

// split separates the containers in a node's report into running ones, and completed ones that the
// node may forget at once because the cluster has no record of them there. The state lists the
// others when their AM has received the end.
func split(st *state.State, node state.NodeSlot, statuses []input.ContainerStatus) (running,
	forget []yarn.ContainerID) {
	running = make([]yarn.ContainerID, 0, len(statuses))
	for i := range statuses {
		id := statuses[i].Container
		if statuses[i].State != yarn.ContainerCompleted {
			running = append(running, id)
			continue
		}
		c := st.ContainerByID(id)
		if c == 0 || st.Containers.Get(c).Node != node {
			forget = append(forget, id)
		}
	}
	return running, forget
}

// lastRemoval returns the number of the last container that a node may forget.
func lastRemoval(st *state.State, node state.NodeSlot) uint64 {
	first, list := st.Removals(node)
	return first + uint64(len(list)) - 1
}

// removals returns the containers that the node may forget and was not told of. They then count as
// told.
func (ss *session) removals(st *state.State) []yarn.ContainerID {
	first, list := st.Removals(ss.number)
	if ss.removed >= first {
		list = list[min(ss.removed-first+1, uint64(len(list))):]
	}
	ss.removed = lastRemoval(st, ss.number)
	return list
}

// unacked returns the number of containers that the node was told to forget and that are still in
// the state.
func (ss *session) unacked(st *state.State) uint64 {
	first, _ := st.Removals(ss.number)
	return max(ss.removed+1, first) - first
}
