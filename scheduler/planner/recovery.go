package planner

import (
	"rmd/fsm/event"
	"rmd/scheduler/input"
)

// recover takes in the containers that another ResourceManager gave to applications which were taken
// over, and notes which applications a node keeps files of. A node brings both along when it
// registers for the first time: later it has nothing that this cluster has not given, or ended.
func (p *Planner) recover(node uint32, in *input.RegisterNode) {
	if p.st.Meta.ImportEpoch == 0 {
		return
	}
	for _, c := range in.Recovered {
		id := c.Container
		ref := event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number}
		if p.st.AppByID(id.App) != 0 && p.st.Recoverable(ref) && !c.Size.Negative() {
			p.sched.Emit(&event.ContainerRecovered{Container: ref, Node: node, Key: c.Key, Size: c.Size, StartedMillis: min(max(c.StartedMillis, 0), p.now)})
		}
	}
	for _, id := range in.Running {
		app := p.st.AppByID(id)
		if app != 0 && in.NodeManager && !p.st.Apps.Get(app).State.Ended() && p.st.NodeApplication(id, node) == 0 {
			p.sched.Emit(&event.NodeApplicationRecovered{App: id.Seq, Node: node})
		}
	}
}
