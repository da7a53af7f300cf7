package planner

import (
	"slices"

	"pgregory.net/rapid"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// The actions of this file are about AMs, application IDs, keys and delegation tokens.

// testEntropy is the entropy of the keys in tests.
var testEntropy = []byte("thirty-two bytes that never vary")

// masterActions returns the actions of this file.
func (m *machine) masterActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"given": m.given, "registerAgain": m.registerAgain, "registerAgain2": m.registerAgain, "launchReport": m.launchReport,
		"launchReport2": m.launchReport,
		"failAttempt":   m.failAttempt, "lifetime": m.lifetime, "report": m.report, "tokens": m.tokens, "foreign": m.foreign,
		"finishMore": m.finishMore,
	}
}

// given takes application IDs and submits under them, or leaves one unused.
func (m *machine) given(t *rapid.T) {
	id := m.plan(&input.NewApplication{}).(*input.NewApplicationReply).ID
	if m.p.st.Apps.ByID(id) != 0 || id.Seq >= m.p.st.Meta.NextApp {
		m.fail("the id %s is given, the next is %d", id, m.p.st.Meta.NextApp)
	}
	if rapid.Bool().Draw(t, "unused") {
		return
	}
	other := m.plan(&input.NewApplication{}).(*input.NewApplicationReply).ID
	for _, id := range []yarn.ApplicationID{other, id} {
		in := &input.SubmitApplication{ID: id, Name: "given", User: "u1", Queue: rapid.SampledFrom(leaves).Draw(t, "queue"),
			AM:             m.size(t, 2),
			MaxAttempts:    rapid.Uint32Range(0, 3).Draw(t, "attempts"),
			ValidityMillis: rapid.SampledFrom([]int64{-1, 0, 50, 1000}).Draw(t, "validity")}
		if r := m.plan(in).(*input.SubmitApplicationReply); r.Refused() == nil {
			if r.ID != id {
				m.fail("submitted as %s, became %s", id, r.ID)
			}
			m.apps = append(m.apps, id)
		}
	}
}

// registerAgain repeats the registration of a registered AM. It must change nothing if the AM has
// had no response since. Otherwise the attempt starts over and keeps only the containers that the
// AM knows.
func (m *machine) registerAgain(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 || a.AttemptState != state.AttemptRegistered {
		return
	}
	was, events, keeps := a.Response, len(m.log), []state.ContainerSlot{}
	for _, c := range liveOf(m.p, slot) {
		if k := m.p.st.Containers.Get(c); k.GrantedIn != 0 || k.AM || k.Attempt != a.Attempt {
			keeps = append(keeps, c)
		}
	}
	if late := m.plan(&input.RegisterAttempt{Attempt: a.AttemptID(), HasResponse: true, Response: was - 1}); was > 0 &&
		(late.Refused() == nil || !onlyTime(m.log[events:])) {
		m.fail("a late registration of %s is answered %+v", a.ID, late)
	}
	events = len(m.log)
	r := m.plan(&input.RegisterAttempt{Attempt: a.AttemptID(), HasResponse: rapid.Bool().Draw(t, "dated"), Response: was})
	a = m.p.st.Apps.Get(slot)
	switch {
	case r.Refused() != nil:
		m.fail("a second registration of %s is refused: %v", a.ID, r.Refused())
	case was == 0 && len(m.log) != events && a.Response == 0 && !m.p.opt.Eager:
		m.fail("a registration repeated at once led to events")
	case a.Response != 0 || a.Asks != 0 || a.Blacklist != nil || a.Reservations != 0:
		m.fail("after its second registration %s has response %d, asks %d", a.ID, a.Response, a.Asks)
	}
	if live := liveOf(m.p, slot); was > 0 && !slices.Equal(live, keeps) {
		m.fail("%s keeps %v, it knows of %v", a.ID, live, keeps)
	}
	if r := m.plan(&input.Allocate{Attempt: a.AttemptID()}).(*input.AllocateReply); r.Refused() != nil ||
		r.Response != 1 || len(r.Granted) > 0 {
		m.fail("the first answer after a registration is %+v", r)
	}
}

// launchReport reports the launch of an AM. The report may be true, late, or about another
// container.
func (m *machine) launchReport(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 {
		return
	}
	waits := a.MasterNumber != 0 && a.LaunchedMillis == 0 && a.Charged() && m.p.st.Master(a) != 0
	before, attempt := *a, a.AttemptID()
	number := a.MasterNumber + rapid.SampledFrom([]uint64{0, 0, 0, 1}).Draw(t, "another")
	waits = waits && number == a.MasterNumber
	if rapid.IntRange(0, 3).Draw(t, "what") > 0 {
		m.plan(&input.AttemptLaunched{Attempt: attempt, Container: number})
		if launched := m.p.st.Apps.Get(slot).LaunchedMillis != before.LaunchedMillis; launched != waits {
			m.fail("an AM reported launched: %v, it waited for that: %v", launched, waits)
		}
		return
	}
	m.plan(&input.AttemptLaunchFailed{Attempt: attempt, Container: number, NodeFault: rapid.Bool().Draw(t, "node"),
		Diagnostics: "no"})
	a = m.p.st.Apps.Get(slot)
	if failed := a.Attempt != before.Attempt ||
		a.State.Ended(); failed != (waits && before.AttemptState == state.AttemptActive) {
		m.fail("%s failed to launch: %v, its AM was in state %d, waited for: %v", attempt, failed, before.AttemptState, waits)
	}
}

func (m *machine) failAttempt(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 || rapid.IntRange(0, 2).Draw(t, "not") > 0 {
		return
	}
	was := *a
	m.plan(&input.FailAttempt{Attempt: a.AttemptID(), User: "u0"})
	if a := m.p.st.Apps.Get(slot); was.AttemptState != state.AttemptFinishing && a.Failures != was.Failures+1 {
		m.fail("an attempt failed by a user: %d failures after %d", a.Failures, was.Failures)
	}
}

func (m *machine) lifetime(t *rapid.T) {
	if slot, a := m.app(t); slot != 0 {
		m.plan(&input.SetLifetime{ID: a.ID, LifetimeMillis: rapid.SampledFrom([]int64{-1, 0, 4000, 60_000}).Draw(t,
			"lifetime")})
	}
}

// report checks that news from an AM is written and that an allocate call without news is not.
func (m *machine) report(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 || a.AttemptState != state.AttemptRegistered {
		return
	}
	for range 3 { // until the AM has acknowledged all grants
		m.plan(&input.Allocate{Attempt: a.AttemptID(), Response: m.p.st.Apps.Get(slot).Response, Progress: a.Progress})
	}
	a = m.p.st.Apps.Get(slot)
	if a.AttemptState != state.AttemptRegistered {
		return
	}
	percent, url := a.Progress/100, a.Details().TrackingURL
	in := &input.Allocate{Attempt: a.AttemptID(), Response: a.Response,
		Progress:    rapid.SampledFrom([]uint32{0, 55, 120, 20_000}).Draw(t, "progress"),
		TrackingURL: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "url")}
	news := min(in.Progress, 10_000)/100 != percent || (in.TrackingURL != "" && in.TrackingURL != url)
	quiet, events := a.Undelivered == 0, len(m.log)
	m.plan(in)
	if wrote := len(m.log) != events; wrote != news && quiet {
		m.fail("%+v after %d %% and %q was written: %v", in, percent, url, wrote)
	}
}

func (m *machine) tokens(t *rapid.T) {
	var all []uint32
	m.p.st.Delegations.Each(func(_ state.DelegationSlot, d *state.DelegationToken) bool {
		all = append(all, d.Sequence)
		return true
	})
	by := rapid.SampledFrom([]string{"u0", "u1", ""}).Draw(t, "by")
	switch what := rapid.IntRange(0, 2).Draw(t, "what"); {
	case what == 0 || len(all) == 0:
		m.plan(&input.IssueDelegationToken{Owner: by, Renewer: rapid.SampledFrom([]string{"u1", ""}).Draw(t, "renewer")})
	case what == 1:
		m.plan(&input.RenewDelegationToken{Sequence: rapid.SampledFrom(all).Draw(t, "token"), By: by})
	default:
		m.plan(&input.CancelDelegationToken{Sequence: rapid.SampledFrom(all).Draw(t, "token"), By: by})
	}
}

// foreign releases containers of another application, or blacklists every node. Both must be
// refused.
func (m *machine) foreign(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 || a.AttemptState != state.AttemptRegistered {
		return
	}
	in := &input.Allocate{Attempt: a.AttemptID(), Response: a.Response, BlacklistAdd: []string{"h1", yarn.Any}}
	want := input.InvalidBlacklist
	if rapid.Bool().Draw(t, "release") {
		id := yarn.ContainerID{App: a.ID, Attempt: a.Attempt, Number: 1}
		id.App.Seq++
		in.Releases, want = []yarn.ContainerID{id}, input.InvalidRelease
	}
	if f := m.plan(in).Refused(); f == nil || f.Reason != want {
		m.fail("%+v was answered %v", in, f)
	}
}

// finishMore unregisters an AM. On a dialed node its application then waits for the end of the AM's
// container.
func (m *machine) finishMore(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 || a.AttemptState != state.AttemptRegistered {
		return
	}
	lingers, id := m.p.attempts.endsByItself(slot), a.AttemptID()
	for range 2 {
		if r := m.plan(&input.FinishAttempt{Attempt: id, Final: yarn.FinalEnded, Diagnostics: "bye"}); r.Refused() != nil {
			m.fail("an unregistration, perhaps repeated, is refused: %v", r.Refused())
		}
	}
	if !m.p.st.Apps.Has(slot) || m.p.st.Apps.Get(slot).ID != id.App {
		return // already forgotten
	}
	a = m.p.st.Apps.Get(slot)
	if (a.AttemptState == state.AttemptFinishing) != lingers || a.Shown() != yarn.AppFinished ||
		a.Final != yarn.FinalEnded || a.State.Ended() == lingers {
		m.fail("%s, whose AM lingers: %v, is %s, attempt in state %d", a.ID, lingers, a.State, a.AttemptState)
	}
	switch how := rapid.IntRange(0, 4).Draw(t, "then"); {
	case !lingers:
	case how == 0:
		m.plan(&input.ExpireAttempt{Attempt: id})
	case how == 1:
		m.plan(&input.KillApplication{ID: id.App})
	case how == 2:
		c := m.p.st.Containers.Get(m.p.st.Master(a))
		m.plan(&input.NodeHeartbeat{ID: m.p.st.Nodes.Get(c.Node).ID,
			Statuses: []input.ContainerStatus{{Container: m.p.st.Apps.ContainerID(c), State: yarn.ContainerCompleted,
				ExitStatus: 137}}})
	default:
		m.plan(&input.Allocate{Attempt: id, Response: 5})
		return
	}
	if slot := m.p.st.Apps.ByID(id.App); slot != 0 {
		if a := m.p.st.Apps.Get(slot); a.State != yarn.AppFinished || a.Final != yarn.FinalEnded ||
			a.Details().Diagnostics != "bye" || a.Live != 0 {
			m.fail("%s ended as %s %s %q with %d containers", a.ID, a.State, a.Final, a.Details().Diagnostics, a.Live)
		}
	}
}
