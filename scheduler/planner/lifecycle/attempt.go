package lifecycle

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/boolint"
	"rmd/yarn"
)

// exitDisksFailed is YARN's ContainerExitStatus.DISKS_FAILED: the node had no usable disk for the
// container.
const exitDisksFailed int32 = -101

// excused reports whether an AM's exit does not count against its application: its node was lost or
// had no disk, the AM was preempted, or the ResourceManager ended it.
//
// Source: Hadoop 3.4.2, RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry.
func excused(exit int32) bool {
	return exit == yarn.ExitPreempted || exit == yarn.ExitAborted || exit == exitDisksFailed || exit == yarn.ExitKilledByRM
}

// AttemptFailed ends an attempt that did not finish. Then it starts the next one, or ends the
// application if there may be no more attempts.
func (e Ends) AttemptFailed(slot state.AppSlot, text string, counts bool) {
	a := e.st.Apps.Get(slot)
	last := e.isLast(a, counts)
	keep := a.KeepContainers && !last
	e.Attempt(slot, yarn.FinalFailed, text, "", keep, counts)
	if !last {
		e.sched.Activate(e.sched.LeafOf(a)) // before the new attempt starts, as in YARN
		e.sched.StartNonRunnable()
		e.sched.StartAttempt(slot)
		return
	}
	a = e.st.Apps.Get(slot)
	e.Application(slot, yarn.AppFailed, yarn.FinalFailed, e.whyFailed(a, text))
}

// isLast reports whether a failure of the current attempt ends the application. With a validity
// interval, only failures within it count. Attempts whose failures do not count are not repeated
// for ever either: there are at most four times as many attempts as failures may count.
func (e Ends) isLast(a *state.App, counts bool) bool {
	if a.Unmanaged { // the client runs the AM, so it must submit the application again
		return true
	}
	failures, attempts, most := a.Failures, a.Attempt, max(a.MaxAttempts, 1)
	if a.ValidityMillis > 0 {
		failures, attempts, most = 0, 1, min(most, state.MaxHistory/4)
		for _, h := range e.st.Attempts.Of(a) {
			if h.EndedMillis <= e.sched.Now()-a.ValidityMillis {
				break
			}
			attempts++
			failures += boolint.Of[uint32](h.Counted)
		}
	}
	if counts {
		return failures+1 >= most
	}
	return attempts/4 >= most
}

// whyFailed returns YARN's message for an application that has used all its attempts.
func (e Ends) whyFailed(a *state.App, text string) string {
	if a.Unmanaged {
		return fmt.Sprintf("Unmanaged application %s failed due to %s. Failing the application.", a.ID, text)
	}
	within, limits := "", ""
	if a.ValidityMillis > 0 {
		within = fmt.Sprintf(" in previous %d milliseconds", a.ValidityMillis)
	}
	if global := e.sched.Config.AMGlobalMaxAttempts; global != int64(a.MaxAttempts) {
		limits = fmt.Sprintf(" (global limit =%d; local limit is =%d)", global, a.MaxAttempts)
	}
	return fmt.Sprintf("Application %s failed %d times%s%s due to %s. Failing the application.", a.ID, a.MaxAttempts,
		within, limits, text)
}

// Attempt ends the current attempt of an application. Its reservations and asks end at once, and so
// do its containers unless they are kept for the next attempt.
func (e Ends) Attempt(slot state.AppSlot, final yarn.FinalStatus, text, url string, keep, counts bool) {
	a := e.st.Apps.Get(slot)
	if a.AttemptState == state.AttemptNone || a.AttemptState == state.AttemptEnded {
		return
	}
	e.sched.CancelAll(slot, yarn.CancelAttemptEnded)
	for _, c := range e.liveOf(slot) {
		if k := e.st.Containers.Get(c); !keep || !k.MayBeKept() {
			e.StopContainer(c, yarn.ExitKilledByRM, "Container killed by the ApplicationMaster's end.")
		}
	}
	e.sched.Emit(&event.AttemptEnded{App: e.st.Apps.Get(slot).ID.Seq, Final: final, Keep: keep, Counts: counts,
		Diagnostics: text, TrackingURL: url})
}

// liveOf returns the containers of an application that have not ended and that nobody has stopped.
func (e Ends) liveOf(slot state.AppSlot) []state.ContainerSlot {
	var out []state.ContainerSlot
	for c, k := range e.st.Containers.Of(e.st.Apps.Get(slot)) {
		if k.State.Live() {
			out = append(out, c)
		}
	}
	return out
}

// Finish ends an application whose attempt has unregistered, with the remaining containers. The
// final status that its AM sent remains.
func (e Ends) Finish(slot state.AppSlot) {
	a := e.st.Apps.Get(slot)
	final, d := a.Final, a.Details()
	e.Attempt(slot, final, d.Diagnostics, d.TrackingURL, false, false)
	e.Application(slot, yarn.AppFinished, final, d.Diagnostics)
}

// Application ends an application whose attempt has ended, and lets others take its place.
func (e Ends) Application(slot state.AppSlot, to yarn.ApplicationState, final yarn.FinalStatus, text string) {
	a := e.st.Apps.Get(slot)
	leaf := e.sched.LeafOf(a)
	e.sched.Emit(&event.ApplicationEnded{App: a.ID.Seq, State: to, Final: final, Diagnostics: text})
	e.LeftQueue(leaf)
}
