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
func (at *attempts) finishing(id yarn.AttemptID) state.AppSlot {
	slot := at.st.Apps.ByID(id.App)
	if slot == 0 {
		return 0
	}
	if a := at.st.Apps.Get(slot); a.Attempt != id.Attempt || a.AttemptState != state.AttemptFinishing {
		return 0
	}
	return slot
}

// endsByItself reports whether the AM of an unregistered attempt ends its container itself. On a
// Hadoop NodeManager it does, and the NodeManager reports the end. Other nodes get a command to end
// it.
func (at *attempts) endsByItself(slot state.AppSlot) bool {
	c := at.st.Master(at.st.Apps.Get(slot))
	return c != 0 && at.st.Containers.Get(c).State.Live() && at.st.Nodes.Get(at.st.Containers.Get(c).Node).NodeManager
}

// resync handles the second registration of an AM that is registered. The AM will repeat all its
// asks. So containers that it was never told about are ended, since it will ask for them again.
func (at *attempts) resync(slot state.AppSlot) {
	at.sched.CancelAll(slot, yarn.CancelAskGone)
	var untold []state.ContainerSlot
	for c, k := range at.st.Containers.UndeliveredTo(at.st.Apps.Get(slot)) {
		if k.GrantedIn == 0 && k.State.Live() && !k.AM {
			untold = append(untold, c)
		}
	}
	for _, c := range untold {
		at.ends.StopContainer(c, yarn.ExitAborted, "Container was granted and not told before its AM registered again.")
	}
	last := at.st.Apps.Get(slot).Response
	at.sched.Emit(&event.AttemptResynced{App: at.st.Apps.Get(slot).ID.Seq})
	at.window(slot).count(last)
}

// awaited returns the application whose current attempt waits for the launch of its AM container; 0
// if it no longer waits or never did.
func (at *attempts) awaited(id yarn.AttemptID, container uint64) state.AppSlot {
	slot := at.st.Apps.ByID(id.App)
	if slot == 0 {
		return 0
	}
	a := at.st.Apps.Get(slot)
	if a.Attempt != id.Attempt || a.MasterNumber != container || a.LaunchedMillis != 0 || !a.Charged() ||
		at.st.Master(a) == 0 {
		return 0
	}
	return slot
}

// launched records that a node has accepted an AM. A repeated or late call has no effect.
func (at *attempts) launched(in *input.AttemptLaunched) input.Reply {
	if slot := at.awaited(in.Attempt, in.Container); slot != 0 {
		at.sched.Emit(&event.AttemptLaunched{App: in.Attempt.App.Seq})
	}
	return in.NewReply()
}

// launchFailed ends an attempt whose AM could not be started. If the AM has registered, it
// was started, no matter what the launcher reports.
func (at *attempts) launchFailed(in *input.AttemptLaunchFailed) input.Reply {
	slot := at.awaited(in.Attempt, in.Container)
	if slot == 0 || at.st.Apps.Get(slot).AttemptState != state.AttemptActive {
		return in.NewReply()
	}
	exit := exitUnknown
	if in.NodeFault {
		exit = yarn.ExitAborted
	}
	text := "Error launching " + in.Attempt.String() + ". Got exception: " + in.Diagnostics
	at.ends.CompleteFor(at.st.Apps.Ref(at.st.Containers.Get(at.st.Master(at.st.Apps.Get(slot)))), exit, text, text)
	return in.NewReply()
}

// fail ends the current attempt as a failure, at the request of a user. It changes nothing
// if the attempt has ended.
func (at *attempts) fail(in *input.FailAttempt) input.Reply {
	slot := at.st.Apps.ByID(in.Attempt.App)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.Attempt.App))
	}
	a := at.st.Apps.Get(slot)
	switch {
	case in.Attempt.Attempt == 0 || in.Attempt.Attempt > a.Attempt:
		return input.Refuse(in, input.Refusef(input.NoSuchAttempt, "list them with \"rmd app list\"",
			"there is no attempt %s", in.Attempt))
	case in.Attempt.Attempt == a.Attempt && (a.AttemptState == state.AttemptNonRunnable || a.Open()):
		at.ends.AttemptFailed(slot, "Attempt failed by user.", true)
	}
	return in.NewReply()
}

// report records an AM's progress and tracking URL if the whole percent or the URL has changed.
func (at *attempts) report(slot state.AppSlot, in *input.Allocate) {
	a := at.st.Apps.Get(slot)
	progress := min(in.Progress, 10_000)
	if progress/100 == a.Progress/100 && (in.TrackingURL == "" || in.TrackingURL == a.Details().TrackingURL) {
		return
	}
	at.sched.Emit(&event.AttemptReported{App: a.ID.Seq, Progress: progress, TrackingURL: in.TrackingURL})
}

// checkReleases refuses a call that releases containers of others, or that blacklists all nodes. It
// accepts containers that no longer exist; release ignores them.
func (at *attempts) checkReleases(slot state.AppSlot, in *input.Allocate) *input.Refusal {
	a := at.st.Apps.Get(slot)
	for _, id := range in.Releases {
		if id.App != a.ID || (id.Attempt != a.Attempt && !a.KeepContainers) {
			return input.Refusef(input.InvalidRelease, "release containers of your own",
				"Cannot release container : %s not belonging to this application attempt : %s", id, in.Attempt)
		}
	}
	if slices.Contains(in.BlacklistAdd, yarn.Any) {
		return input.Refusef(input.InvalidBlacklist, "name hosts or racks", "Cannot add %s to the blacklist!", yarn.Any)
	}
	return nil
}

// release ends containers that the AM returns.
func (at *attempts) release(slot state.AppSlot, ids []yarn.ContainerID) {
	for _, id := range ids {
		c := at.st.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
		if c == 0 {
			continue
		}
		if k := at.st.Containers.Get(c); k.App == slot && k.State.Live() && !k.AM {
			at.ends.StopContainer(c, yarn.ExitAborted, "Container released by application")
		}
	}
}
