package lifecycle

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Complete ends a container on its node. If it is an AM container, its attempt ends too, unless it
// has ended already.
func (e Ends) Complete(ref event.ContainerRef, exit int32, text string) {
	e.CompleteFor(ref, exit, text, "")
}

// CompleteFor is Complete with the diagnostics for the attempt if the container is its AM; empty
// means that the AM exited.
func (e Ends) CompleteFor(ref event.ContainerRef, exit int32, text, reason string) {
	if e.CompleteAlone(ref, exit, text) {
		e.MasterEnded(ref, exit, text, reason)
	}
}

// CompleteAlone ends a container but not its attempt. It reports whether the container was a live
// AM.
func (e Ends) CompleteAlone(ref event.ContainerRef, exit int32, text string) bool {
	c := e.st.Containers.Get(e.st.Container(ref))
	am, live, node := c.AM, c.State.Live(), c.Node
	a := e.st.Apps.Get(c.App)
	e.sched.CancelIncrease(c)
	restore := live && c.State == yarn.ContainerAllocated && c.GrantedIn == 0 && !am && a.Open() &&
		a.Attempt == ref.Attempt
	e.sched.Emit(&event.ContainerCompleted{Container: ref, ExitStatus: exit, Restore: restore, Diagnostics: text})
	e.sched.NodeFreed(node)
	return am && live
}

// MasterEnded ends the attempt whose AM has ended, unless it has ended already.
func (e Ends) MasterEnded(ref event.ContainerRef, exit int32, text, reason string) {
	app := e.st.Apps.Find(ref.App)
	a := e.st.Apps.Get(app)
	switch {
	case a.Attempt != ref.Attempt:
	case a.AttemptState == state.AttemptFinishing:
		e.Finish(app)
	case a.Open():
		if reason == "" {
			reason = fmt.Sprintf("AM Container for %s exited with  exitCode: %d\nFailing this attempt.Diagnostics: %s",
				a.AttemptID(), exit, text)
		}
		e.AttemptFailed(app, reason, !excused(exit))
	}
}

// StopContainer ends a live container by a decision of the ResourceManager. If the container runs
// on its node, the resource is freed when the node reports the end. Otherwise it is freed at once.
func (e Ends) StopContainer(slot state.ContainerSlot, exit int32, text string) {
	c := e.st.Containers.Get(slot)
	ref, node := e.st.Apps.Ref(c), c.Node
	e.sched.CancelIncrease(c)
	if c.Launched || e.runsUnreported(c) {
		e.sched.Emit(&event.ContainerReleased{Container: ref, ExitStatus: exit, Diagnostics: text})
		return
	}
	e.sched.Emit(&event.ContainerCompleted{Container: ref, ExitStatus: exit, Diagnostics: text})
	e.sched.NodeFreed(node)
}

// runsUnreported reports whether a container is an AM that was launched, but that no heartbeat of
// its node has reported yet.
func (e Ends) runsUnreported(c *state.Container) bool {
	if !c.AM {
		return false
	}
	a := e.st.Apps.Get(c.App)
	return a.LaunchedMillis != 0 && a.MasterNumber == c.Number && a.Attempt == c.Attempt
}

// preempted is the diagnostics of a preempted container, as in YARN.
const preempted = "Container preempted by scheduler"

// KillPreempted ends a warned container. If it is an AM, its attempt ends too, which does not count
// against the application. If the AM does not know the container yet, its ask is restored.
func (e Ends) KillPreempted(slot state.ContainerSlot) {
	c := e.st.Containers.Get(slot)
	ref, live := e.st.Apps.Ref(c), c.State.Live()
	switch {
	case !live:
	case c.AM:
		e.StopContainer(slot, yarn.ExitPreempted, preempted)
		e.MasterEnded(ref, yarn.ExitPreempted, preempted, "")
	case c.State == yarn.ContainerAllocated && !c.Launched:
		e.Complete(ref, yarn.ExitPreempted, preempted)
	default:
		e.StopContainer(slot, yarn.ExitPreempted, preempted)
	}
}
