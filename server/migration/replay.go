package migration

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/fsm/event"
	"rmd/transport/hadoop/statestore"
	"rmd/yarn"
)

// step is an event in the life of an application.
type step struct {
	millis int64
	do     func()
}

// replay applies the steps of all applications in the order of time.
func (b *builder) replay(apps []application) {
	var all []step
	for _, a := range apps {
		all = append(all, b.history(a)...)
	}
	slices.SortStableFunc(all, func(x, y step) int { return cmp.Compare(x.millis, y.millis) })
	for _, s := range all {
		b.at(s.millis)
		s.do()
	}
	b.st.Meta.ClusterTimestamp = max(b.opt.NowMillis, b.st.Meta.ClusterTimestamp+1)
	for _, a := range apps {
		b.st.Meta.ClusterTimestamp = max(b.st.Meta.ClusterTimestamp, a.ID.ClusterTimestamp+1)
	}
}

// history returns the steps of one application. Their times do not go back.
func (b *builder) history(a application) []step {
	var steps []step
	add := func(millis int64, do func()) {
		if n := len(steps); n > 0 {
			millis = max(millis, steps[n-1].millis)
		}
		steps = append(steps, step{millis, do})
	}
	add(a.SubmittedMillis, func() { b.submitted(a) })
	attempts := a.withMissing()
	for i, at := range attempts {
		add(at.StartedMillis, func() { b.attemptStarted(a, at) })
		if at.State.Ended() || a.State.Ended() || i < len(attempts)-1 {
			add(max(at.EndedMillis, 0), func() { b.attemptEnded(a, at) })
		}
	}
	if a.State.Ended() {
		add(a.EndedMillis, func() { b.ended(a, a.State, a.Diagnostics) })
		b.result.Ended++
		return steps
	}
	add(0, func() { b.goesOn(a) })
	return steps
}

// withMissing returns the attempts, including earlier ones that the store no longer has.
func (a application) withMissing() []statestore.Attempt {
	var out []statestore.Attempt
	for _, at := range a.Attempts {
		for n := uint32(len(out)) + 1; n < at.Number; n++ {
			out = append(out, statestore.Attempt{Number: n, State: yarn.AppFailed, Final: yarn.FinalFailed,
				ExitStatus:    yarn.ExitAborted,
				StartedMillis: at.StartedMillis, EndedMillis: at.StartedMillis})
		}
		out = append(out, at)
	}
	return out
}

func (b *builder) submitted(a application) {
	b.st.Meta.ClusterTimestamp = a.ID.ClusterTimestamp
	in := a.in
	attempts := in.MaxAttempts
	if attempts == 0 {
		attempts = uint32(b.conf.AMMaxAttempts)
	}
	lifetime := int64(0)
	if a.ExpiresMillis > 0 {
		lifetime = max(a.ExpiresMillis-a.SubmittedMillis, 1)
	}
	b.apply(&event.ApplicationSubmitted{App: a.ID.Seq, Name: in.Name, User: in.User, Queue: a.leaf, Type: in.Type,
		Tags:     in.Tags,
		Priority: min(in.Priority, b.conf.MaxPriority), AM: in.AM, Unmanaged: in.Unmanaged, KeepContainers: in.KeepContainers,
		MaxAttempts:    attempts,
		LifetimeMillis: lifetime, ValidityMillis: in.ValidityMillis, Context: in.Context, AMPlaces: in.AMPlaces,
		AMStrict: in.AMStrict})
	b.labelled(a)
}

// labelled sets the labels of an application. The state store does not contain the cluster's
// labels. An administrator adds them and decides which are exclusive. Until then the application's
// requests wait.
func (b *builder) labelled(a application) {
	leaf, err := b.conf.Lookup(a.leaf)
	if err != nil {
		return
	}
	e := &event.ApplicationLabelled{App: a.ID.Seq}
	e.Label, e.AMLabel = b.conf.ApplicationLabels(&b.conf.Queues[leaf], a.in.Label, a.in.AMLabel, a.in.Unmanaged)
	if e.AMLabel != "" && b.st.Labels.Find(e.AMLabel) == 0 {
		b.apply(&event.LabelsSet{Labels: []event.Label{{Name: e.AMLabel, Exclusive: true}}})
		b.apply(&event.LabelsRemoved{Names: []string{e.AMLabel}})
	}
	if e.Label != "" || e.AMLabel != "" {
		b.apply(e)
	}
}

// attemptStarted starts an attempt. A running attempt waits until its AM registers again.
func (b *builder) attemptStarted(a application, at statestore.Attempt) {
	app := a.ID.Seq
	b.apply(&event.AttemptStarted{App: app, Attempt: at.Number})
	if at.Master == 0 && !a.in.Unmanaged {
		return
	}
	b.apply(&event.AttemptActivated{App: app})
	if at.Master != 0 {
		var used yarn.Resource
		for i, kind := range b.st.Versions.Kinds() {
			used[i] = max(at.ResourceSeconds[kind], 0)
		}
		b.apply(&event.AttemptRecovered{App: app, Master: at.Master, ResourceSeconds: used})
	}
	if at.State == yarn.AppFinished {
		b.apply(&event.AttemptRegistered{App: app, TrackingURL: at.TrackingURL})
	}
}

func (b *builder) attemptEnded(a application, at statestore.Attempt) {
	app, final := a.ID.Seq, at.Final
	switch {
	case at.State == yarn.AppFinished && (at.Master != 0 || a.in.Unmanaged):
		b.apply(&event.AttemptUnregistered{App: app, Final: final, Diagnostics: at.Diagnostics, TrackingURL: at.TrackingURL})
	case at.State == yarn.AppFailed:
		final = yarn.FinalFailed
	case at.State != yarn.AppFinished:
		final = yarn.FinalKilled
	}
	counts := at.State == yarn.AppFailed && !excused(at.ExitStatus)
	b.apply(&event.AttemptEnded{App: app, Final: final, Counts: counts, Diagnostics: at.Diagnostics,
		TrackingURL: at.TrackingURL})
}

// excused reports whether the end of an AM's container does not count as a failure, as in YARN's
// RMAppAttemptImpl.
func excused(exit int32) bool {
	const disksFailed = -101
	return exit == yarn.ExitPreempted || exit == yarn.ExitAborted || exit == disksFailed || exit == yarn.ExitKilledByRM
}

func (b *builder) ended(a application, end yarn.ApplicationState, text string) {
	final := yarn.FinalUndefined
	switch {
	case end == yarn.AppKilled:
		final = yarn.FinalKilled
	case end == yarn.AppFailed:
		final = yarn.FinalFailed
	case len(a.Attempts) > 0:
		final = a.Attempts[len(a.Attempts)-1].Final
	}
	b.apply(&event.ApplicationEnded{App: a.ID.Seq, State: end, Final: final, Diagnostics: text})
}

// goesOn handles an application that has not ended. Its attempt runs, or it needs another attempt,
// or its last attempt has ended and the store does not have the end of the application.
func (b *builder) goesOn(a application) {
	if len(a.Attempts) == 0 {
		b.result.Waiting = append(b.result.Waiting, a.ID)
		return
	}
	switch last := a.Attempts[len(a.Attempts)-1]; {
	case last.State == 0 && last.Master == 0 && !a.in.Unmanaged:
		b.problem(a.ID.String(), "leave it out with --skip", "attempt %d has no AM container", last.Number)
	case last.State == 0:
		b.result.Running = append(b.result.Running, a.ID)
	case last.State == yarn.AppFinished:
		b.ended(a, yarn.AppFinished, last.Diagnostics)
		b.result.Ended++
	case b.err != nil:
	case last.State == yarn.AppKilled, b.st.Apps.Get(b.st.Apps.Find(a.ID.Seq)).Failures >= b.st.Apps.Get(
		b.st.Apps.Find(a.ID.Seq)).MaxAttempts:
		b.ended(a, last.State, fmt.Sprintf("Attempt %d was the last. %s", last.Number, last.Diagnostics))
		b.result.Ended++
	default:
		b.result.Waiting = append(b.result.Waiting, a.ID)
	}
}
