package node

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// recover adds the containers that another ResourceManager allocated to migrated applications, and
// records which applications have files on the node. Only the first registration of a node has such
// containers. Later, the node has only containers that this cluster has allocated or ended.
func (rp *Reports) recover(node state.NodeSlot, in *input.RegisterNode) {
	if rp.st.Meta.ImportEpoch == 0 {
		return
	}
	for _, c := range in.Recovered {
		id := c.Container
		ref := event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number}
		if rp.st.Apps.ByID(id.App) != 0 && rp.st.Recoverable(ref) && !c.Size.Negative() {
			rp.sched.Emit(&event.ContainerRecovered{Container: ref, Node: node, Key: c.Key, Size: c.Size,
				StartedMillis: min(max(c.StartedMillis, 0), rp.sched.Now())})
		}
	}
	for _, id := range in.Running {
		app := rp.st.Apps.ByID(id)
		if app != 0 && in.NodeManager && !rp.st.Apps.Get(app).State.Ended() && rp.st.NodeApplications.Find(id, node) == 0 {
			rp.sched.Emit(&event.NodeApplicationRecovered{App: id.Seq, Node: node})
		}
	}
}
