package planner

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// complete ends a container on its node. If it is an AM container, its attempt ends too, unless it
// has ended already.
func (p *Planner) complete(ref event.ContainerRef, exit int32, text string) {
	p.completeFor(ref, exit, text, "")
}

// completeFor is complete with the diagnostics for the attempt if the container is its AM; empty
// means that the AM exited.
func (p *Planner) completeFor(ref event.ContainerRef, exit int32, text, reason string) {
	if p.completeAlone(ref, exit, text) {
		p.amEnded(ref, exit, text, reason)
	}
}

// completeAlone ends a container but not its attempt. It reports whether the container was a live
// AM.
func (p *Planner) completeAlone(ref event.ContainerRef, exit int32, text string) bool {
	c := p.st.Containers.Get(p.st.Container(ref))
	am, live, node := c.AM, c.State.Live(), c.Node
	a := p.st.Apps.Get(c.App)
	p.sched.CancelIncrease(c)
	restore := live && c.State == yarn.ContainerAllocated && c.GrantedIn == 0 && !am && a.Open() && a.Attempt == ref.Attempt
	p.sched.Emit(&event.ContainerCompleted{Container: ref, ExitStatus: exit, Restore: restore, Diagnostics: text})
	p.sched.NodeFreed(node)
	return am && live
}

// amEnded ends the attempt whose AM has ended, unless it has ended already.
func (p *Planner) amEnded(ref event.ContainerRef, exit int32, text, reason string) {
	app := p.st.Apps.Find(ref.App)
	a := p.st.Apps.Get(app)
	switch {
	case a.Attempt != ref.Attempt:
	case a.AttemptState == state.AttemptFinishing:
		p.finished(app)
	case a.Open():
		if reason == "" {
			reason = fmt.Sprintf("AM Container for %s exited with  exitCode: %d\nFailing this attempt.Diagnostics: %s", a.AttemptID(), exit, text)
		}
		p.attemptFailed(app, reason, !excused(exit))
	}
}

// stopContainer ends a live container by a decision of the ResourceManager. If the container runs
// on its node, the resource is freed when the node reports the end. Otherwise it is freed at once.
func (p *Planner) stopContainer(slot state.ContainerSlot, exit int32, text string) {
	c := p.st.Containers.Get(slot)
	ref, node := p.st.Apps.Ref(c), c.Node
	p.sched.CancelIncrease(c)
	if c.Launched || p.runsUnreported(c) {
		p.sched.Emit(&event.ContainerReleased{Container: ref, ExitStatus: exit, Diagnostics: text})
		return
	}
	p.sched.Emit(&event.ContainerCompleted{Container: ref, ExitStatus: exit, Diagnostics: text})
	p.sched.NodeFreed(node)
}

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
			p.complete(ref, yarn.ExitAborted, "Container expired since it was unused")
		case c.Unused():
			p.rollBack(slot)
		}
	}
	return in.NewReply()
}
