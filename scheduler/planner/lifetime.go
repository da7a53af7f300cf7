package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
)

// setLifetime changes an application's lifetime, up to the maximum of its queue.
func (ap *applications) setLifetime(in *input.SetLifetime) input.Reply {
	slot := ap.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	a := ap.st.Apps.Get(slot)
	switch {
	case a.Shown().Ended():
		return input.Refuse(in, alreadyEnded(a))
	case in.LifetimeMillis < 0:
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "give a time of zero or more; zero is no bound",
			"a lifetime of %d ms is not valid", in.LifetimeMillis))
	}
	millis := in.LifetimeMillis
	if most := ap.sched.Config.Queues[ap.sched.LeafOf(a)].MaxLifetime * 1000; most > 0 && (millis == 0 || millis > most) {
		millis = most
	}
	if millis != a.LifetimeMillis {
		ap.sched.Emit(&event.ApplicationLifetimeChanged{App: a.ID.Seq, LifetimeMillis: millis})
	}
	return in.NewReply()
}

// lifetime returns the lifetime of an application in milliseconds: what it asks for, up to the
// maximum of its queue. 0 means no limit.
func (ap *applications) lifetime(asked int64, leaf int) int64 {
	q := &ap.sched.Config.Queues[leaf]
	out := asked
	if out <= 0 {
		out = max(q.DefaultLifetime, 0) * 1000
		if q.DefaultLifetime < 0 {
			out = max(q.MaxLifetime, 0) * 1000
		}
	}
	if most := q.MaxLifetime * 1000; most > 0 && (out == 0 || out > most) {
		out = most
	}
	return out
}

// lifetimeEnd returns when an application has exceeded its lifetime.
func lifetimeEnd(a *state.App) int64 {
	if a.LifetimeMillis <= 0 || a.Shown().Ended() {
		return due.Never
	}
	return a.SubmittedMillis + a.LifetimeMillis
}

// lifetimesDue kills the applications that have exceeded their lifetime.
func (ap *applications) lifetimesDue() {
	for _, slot := range due.Passed(&ap.st.Apps, lifetimeEnd, ap.sched.Now()) {
		ap.kill(&input.KillApplication{ID: ap.st.Apps.Get(slot).ID,
			Diagnostics: "Application is killed by ResourceManager as it has exceeded the lifetime period."})
	}
}
