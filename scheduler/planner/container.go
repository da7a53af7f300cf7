package planner

import (
	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// signals is the number of YARN's commands for containers: a thread dump, a graceful and a forceful
// shutdown.
const signals = 3

func (p *Planner) signalContainer(in *input.SignalContainer) input.Reply {
	id := in.Container
	slot := p.st.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
	if slot == 0 || p.st.Apps.ContainerID(p.st.Containers.Get(slot)) != id || !p.st.Containers.Get(slot).OnNode {
		return input.Refuse(in, input.Faultf(input.NoSuchContainer, "list them with \"rmd app containers\"", "there is no container %s", id))
	}
	if in.Command < 1 || in.Command > signals {
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "use 1 to 3", "there is no signal %d for containers", in.Command))
	}
	if c := p.st.Containers.Get(slot); c.State.Live() && c.Signal != in.Command {
		p.sched.Emit(&event.ContainerSignalled{Container: p.st.Apps.Ref(c), Command: in.Command})
	}
	return in.NewReply()
}

// expireContainers ends containers that were granted and never started, and takes back increases
// that were not used.
func (p *Planner) expireContainers(in *input.ExpireContainers) input.Reply {
	for _, id := range in.Containers {
		ref := event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number}
		slot := p.st.Container(ref)
		if slot == 0 || p.st.Apps.ContainerID(p.st.Containers.Get(slot)) != id {
			continue
		}
		switch c := p.st.Containers.Get(slot); {
		case c.Unstarted():
			p.ends.Complete(ref, yarn.ExitAborted, "Container expired since it was unused")
		case c.Unused():
			p.rollBack(slot)
		}
	}
	return in.NewReply()
}
