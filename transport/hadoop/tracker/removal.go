package tracker

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// A NodeManager keeps a completed container, and answers getContainerStatuses with how it ended,
// until it is told to forget it. It reports the end once. What it may forget is in the state
// (state.Removals), so that it is told by whichever replica serves it next.

// unackedMax is how many containers a node may have been told to forget before a heartbeat goes to
// the leader for that alone. Fewer are acknowledged with the next heartbeat that goes there anyway,
// and told again by another replica meanwhile, which is harmless.
const unackedMax = 100

// split sorts what a node reports into the containers that run there and the completed ones that
// it may forget at once: those of which the cluster has no record there. The others are listed in
// the state when their AM has heard of the end; below the level at which they are, all are
// forgotten.
func split(st *state.State, node uint32, statuses []input.ContainerStatus) (running, forget []yarn.ContainerID) {
	running = make([]yarn.ContainerID, 0, len(statuses))
	for i := range statuses {
		id := statuses[i].Container
		if statuses[i].State != yarn.ContainerCompleted {
			running = append(running, id)
			continue
		}
		c := st.ContainerByID(id)
		if c == 0 || st.Containers.Get(c).Node != node || !st.ListsRemovals() {
			forget = append(forget, id)
		}
	}
	return running, forget
}

// lastRemoval is the number of the last container that a node may forget.
func lastRemoval(st *state.State, node uint32) uint64 {
	first, list := st.Removals(node)
	return first + uint64(len(list)) - 1
}

// removals are the containers that the node may forget and was not told of. They count as told.
func (ss *session) removals(st *state.State) []yarn.ContainerID {
	first, list := st.Removals(ss.number)
	if ss.removed >= first {
		list = list[min(ss.removed-first+1, uint64(len(list))):]
	}
	ss.removed = lastRemoval(st, ss.number)
	return list
}

// unacked is how many containers the node was told to forget that are still in the state.
func (ss *session) unacked(st *state.State) uint64 {
	first, _ := st.Removals(ss.number)
	return max(ss.removed+1, first) - first
}
