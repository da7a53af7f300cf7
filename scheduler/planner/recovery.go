package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// recover adds the containers that another ResourceManager allocated to migrated applications, and
// records which applications have files on the node. Only the first registration of a node has such
// containers. Later, the node has only containers that this cluster has allocated or ended.
func (p *Planner) recover(node state.NodeSlot, in *input.RegisterNode) {
	if p.st.Meta.ImportEpoch == 0 {
		return
	}
	for _, c := range in.Recovered {
		id := c.Container
		ref := event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number}
		if p.st.Apps.ByID(id.App) != 0 && p.st.Recoverable(ref) && !c.Size.Negative() {
			p.sched.Emit(&event.ContainerRecovered{Container: ref, Node: node, Key: c.Key, Size: c.Size, StartedMillis: min(max(c.StartedMillis, 0), p.now)})
		}
	}
	for _, id := range in.Running {
		app := p.st.Apps.ByID(id)
		if app != 0 && in.NodeManager && !p.st.Apps.Get(app).State.Ended() && p.st.NodeApplications.Find(id, node) == 0 {
			p.sched.Emit(&event.NodeApplicationRecovered{App: id.Seq, Node: node})
		}
	}
}
