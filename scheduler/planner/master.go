package planner

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// finishing returns the application whose current attempt has this id and has unregistered; 0 if
// there is none.
func (p *Planner) finishing(id yarn.AttemptID) state.AppSlot {
	slot := p.st.Apps.ByID(id.App)
	if slot == 0 {
		return 0
	}
	if a := p.st.Apps.Get(slot); a.Attempt != id.Attempt || a.AttemptState != state.AttemptFinishing {
		return 0
	}
	return slot
}

// endsByItself reports whether the AM of an unregistered attempt ends its container itself. On a
// Hadoop NodeManager it does, and the NodeManager reports the end. Other nodes get a command to end
// it.
func (p *Planner) endsByItself(slot state.AppSlot) bool {
	c := p.st.Master(p.st.Apps.Get(slot))
	return c != 0 && p.st.Containers.Get(c).State.Live() && p.st.Nodes.Get(p.st.Containers.Get(c).Node).NodeManager
}

// resync handles the second registration of an AM that is registered. The AM will repeat all its
// asks. So containers that it was never told about are ended, since it will ask for them again.
func (p *Planner) resync(slot state.AppSlot) {
	p.sched.CancelAll(slot, yarn.CancelAskGone)
	var untold []state.ContainerSlot
	for c, k := range p.st.Containers.UndeliveredTo(p.st.Apps.Get(slot)) {
		if k.GrantedIn == 0 && k.State.Live() && !k.AM {
			untold = append(untold, c)
		}
	}
	for _, c := range untold {
		p.ends.StopContainer(c, yarn.ExitAborted, "Container was granted and not told before its AM registered again.")
	}
	last := p.st.Apps.Get(slot).Response
	p.sched.Emit(&event.AttemptResynced{App: p.st.Apps.Get(slot).ID.Seq})
	p.window(slot).count(last)
}

// awaited returns the application whose current attempt waits for the launch of its AM container; 0
// if it no longer waits or never did.
func (p *Planner) awaited(id yarn.AttemptID, container uint64) state.AppSlot {
	slot := p.st.Apps.ByID(id.App)
	if slot == 0 {
		return 0
	}
	a := p.st.Apps.Get(slot)
	if a.Attempt != id.Attempt || a.MasterNumber != container || a.LaunchedMillis != 0 || !a.Charged() || p.st.Master(a) == 0 {
		return 0
	}
	return slot
}

// attemptLaunched records that a node has accepted an AM. A repeated or late call has no effect.
func (p *Planner) attemptLaunched(in *input.AttemptLaunched) input.Reply {
	if slot := p.awaited(in.Attempt, in.Container); slot != 0 {
		p.sched.Emit(&event.AttemptLaunched{App: in.Attempt.App.Seq})
	}
	return in.NewReply()
}

// attemptLaunchFailed ends an attempt whose AM could not be started. If the AM has registered, it
// was started, no matter what the launcher reports.
func (p *Planner) attemptLaunchFailed(in *input.AttemptLaunchFailed) input.Reply {
	slot := p.awaited(in.Attempt, in.Container)
	if slot == 0 || p.st.Apps.Get(slot).AttemptState != state.AttemptActive {
		return in.NewReply()
	}
	exit := exitUnknown
	if in.NodeFault {
		exit = yarn.ExitAborted
	}
	text := "Error launching " + in.Attempt.String() + ". Got exception: " + in.Diagnostics
	p.ends.CompleteFor(p.st.Apps.Ref(p.st.Containers.Get(p.st.Master(p.st.Apps.Get(slot)))), exit, text, text)
	return in.NewReply()
}

// failAttempt ends the current attempt as a failure, at the request of a user. It changes nothing
// if the attempt has ended.
func (p *Planner) failAttempt(in *input.FailAttempt) input.Reply {
	slot := p.st.Apps.ByID(in.Attempt.App)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.Attempt.App))
	}
	a := p.st.Apps.Get(slot)
	switch {
	case in.Attempt.Attempt == 0 || in.Attempt.Attempt > a.Attempt:
		return input.Refuse(in, input.Faultf(input.NoSuchAttempt, "list them with \"rmd app list\"", "there is no attempt %s", in.Attempt))
	case in.Attempt.Attempt == a.Attempt && (a.AttemptState == state.AttemptNonRunnable || a.Open()):
		p.ends.AttemptFailed(slot, "Attempt failed by user.", true)
	}
	return in.NewReply()
}

// report records an AM's progress and tracking URL if the whole percent or the URL has changed.
func (p *Planner) report(slot state.AppSlot, in *input.Allocate) {
	a := p.st.Apps.Get(slot)
	progress := min(in.Progress, 10_000)
	if progress/100 == a.Progress/100 && (in.TrackingURL == "" || in.TrackingURL == a.Details().TrackingURL) {
		return
	}
	p.sched.Emit(&event.AttemptReported{App: a.ID.Seq, Progress: progress, TrackingURL: in.TrackingURL})
}

// checkReleases refuses a call that releases containers of others, or that blacklists all nodes. It
// accepts containers that no longer exist; release ignores them.
func (p *Planner) checkReleases(slot state.AppSlot, in *input.Allocate) *input.Fault {
	a := p.st.Apps.Get(slot)
	for _, id := range in.Releases {
		if id.App != a.ID || (id.Attempt != a.Attempt && !a.KeepContainers) {
			return input.Faultf(input.InvalidRelease, "release containers of your own", "Cannot release container : %s not belonging to this application attempt : %s", id, in.Attempt)
		}
	}
	if slices.Contains(in.BlacklistAdd, yarn.Any) {
		return input.Faultf(input.InvalidBlacklist, "name hosts or racks", "Cannot add %s to the blacklist!", yarn.Any)
	}
	return nil
}
