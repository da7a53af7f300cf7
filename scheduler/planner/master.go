package planner

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// finishing finds the application whose current attempt this is and whose AM has
// unregistered; 0 when there is none.
func (p *Planner) finishing(id yarn.AttemptID) uint32 {
	slot := p.st.AppByID(id.App)
	if slot == 0 {
		return 0
	}
	if a := p.st.Apps.Get(slot); a.Attempt != id.Attempt || a.AttemptState != state.AttemptFinishing {
		return 0
	}
	return slot
}

// endsByItself says whether an AM that has unregistered is left to end its
// container itself: a Hadoop NodeManager reports when it has. Other nodes get a command
// to end it.
func (p *Planner) endsByItself(slot uint32) bool {
	c := p.st.Master(p.st.Apps.Get(slot))
	return c != 0 && p.st.Containers.Get(c).State.Live() && p.st.Nodes.Get(p.st.Containers.Get(c).Node).NodeManager
}

// finished ends an attempt whose AM had unregistered, with what is left of it.
// What the AM said of its end stands.
func (p *Planner) finished(slot uint32) {
	a := p.st.Apps.Get(slot)
	final, d := a.Final, a.Details()
	p.endAttempt(slot, final, d.Diagnostics, d.TrackingURL, false, false)
	p.endApplication(slot, yarn.AppFinished, final, d.Diagnostics)
}

// resync is a registered AM's second registration: it will ask for everything
// again. What it was never told of is given up, for it would ask for that too.
func (p *Planner) resync(slot uint32) {
	p.sched.CancelAll(slot, yarn.CancelAskGone)
	var untold []uint32
	for c, k := range p.st.UndeliveredTo(p.st.Apps.Get(slot)) {
		if k.GrantedIn == 0 && k.State.Live() && !k.AM {
			untold = append(untold, c)
		}
	}
	for _, c := range untold {
		p.stopContainer(c, yarn.ExitAborted, "Container was granted and not told before its AM registered again.")
	}
	last := p.st.Apps.Get(slot).Response
	p.sched.Emit(&event.AttemptResynced{App: p.st.Apps.Get(slot).ID.Seq})
	p.window(slot).count(last)
}

// runsUnreported says whether a container is an AM that runs though its node's
// heartbeats have not said so yet.
func (p *Planner) runsUnreported(c *state.Container) bool {
	if !c.AM {
		return false
	}
	a := p.st.Apps.Get(c.App)
	return a.LaunchedMillis != 0 && a.MasterNumber == c.Number && a.Attempt == c.Attempt
}

// awaited finds the application whose current attempt waits for its AM container
// to be started; 0 when that is over, or never was.
func (p *Planner) awaited(id yarn.AttemptID, container uint64) uint32 {
	slot := p.st.AppByID(id.App)
	if slot == 0 {
		return 0
	}
	a := p.st.Apps.Get(slot)
	if a.Attempt != id.Attempt || a.MasterNumber != container || a.LaunchedMillis != 0 || !a.Charged() || p.st.Master(a) == 0 {
		return 0
	}
	return slot
}

// attemptLaunched notes that a node has taken an AM. Repeated or late it does
// nothing.
func (p *Planner) attemptLaunched(in *input.AttemptLaunched) input.Reply {
	if slot := p.awaited(in.Attempt, in.Container); slot != 0 {
		p.sched.Emit(&event.AttemptLaunched{App: in.Attempt.App.Seq})
	}
	return in.NewReply()
}

// attemptLaunchFailed ends an attempt whose AM could not be started. An AM that
// has registered was started, whatever its launcher saw.
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
	p.completeFor(p.st.Ref(p.st.Containers.Get(p.st.Master(p.st.Apps.Get(slot)))), exit, text, text)
	return in.NewReply()
}

// failAttempt ends the current attempt as a failure by a user's wish. One that
// is over already has nothing to fail.
func (p *Planner) failAttempt(in *input.FailAttempt) input.Reply {
	slot := p.st.AppByID(in.Attempt.App)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.Attempt.App))
	}
	a := p.st.Apps.Get(slot)
	switch {
	case in.Attempt.Attempt == 0 || in.Attempt.Attempt > a.Attempt:
		return input.Refuse(in, input.Faultf(input.NoSuchAttempt, "list them with \"rmd app list\"", "there is no attempt %s", in.Attempt))
	case in.Attempt.Attempt == a.Attempt && (a.AttemptState == state.AttemptNonRunnable || a.Open()):
		p.attemptFailed(slot, "Attempt failed by user.", true)
	}
	return in.NewReply()
}

// isLast says whether a failure of the current attempt ends the application.
// With a validity interval only failures within it count. Attempts that are lost
// again and again are not retried for ever, though none counts.
func (p *Planner) isLast(a *state.App, counts bool) bool {
	if a.Unmanaged { // the client that runs its AM has to submit it again
		return true
	}
	failures, attempts, most := a.Failures, a.Attempt, max(a.MaxAttempts, 1)
	if a.ValidityMillis > 0 {
		failures, attempts, most = 0, 1, min(most, state.MaxHistory/4)
		for _, h := range p.st.HistoryOf(a) {
			if h.EndedMillis <= p.now-a.ValidityMillis {
				break
			}
			attempts++
			failures += uint32(boolToInt(h.Counted))
		}
	}
	if counts {
		return failures+1 >= most
	}
	return attempts/4 >= most
}

// report writes what an AM says of itself when it is worth a line: another whole
// percent, or another page.
func (p *Planner) report(slot uint32, in *input.Allocate) {
	a := p.st.Apps.Get(slot)
	progress := min(in.Progress, 10_000)
	if progress/100 == a.Progress/100 && (in.TrackingURL == "" || in.TrackingURL == a.Details().TrackingURL) {
		return
	}
	p.sched.Emit(&event.AttemptReported{App: a.ID.Seq, Progress: progress, TrackingURL: in.TrackingURL})
}

// checkReleases refuses a call that gives back what is not the attempt's, or
// refuses every node. Containers that are gone are passed over later.
func (p *Planner) checkReleases(slot uint32, in *input.Allocate) *input.Fault {
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
