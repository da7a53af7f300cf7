package record

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// Attempts is the table of ended attempts.
type Attempts struct {
	table.Table[AttemptSlot, Attempt]
}

// MaxHistory bounds the number of ended attempts that the state keeps per application.
const MaxHistory = 1000

// WholeProgress is the App.Progress of an AM that is done.
const WholeProgress = 10_000

// DeliveredEarlier in Container.GrantedIn means that a response delivered the container before the
// current count of responses began: to an earlier attempt, or before a resync.
const DeliveredEarlier int32 = -1

// Shown returns the application's state for reports. It is FINISHED as soon as the AM has
// unregistered.
func (a *App) Shown() yarn.ApplicationState {
	if a.AttemptState == AttemptFinishing {
		return yarn.AppFinished
	}
	return a.State
}

// Open reports whether the current attempt may ask for containers and receive them.
func (a *App) Open() bool {
	return a.AttemptState >= AttemptPending && a.AttemptState <= AttemptRegistered
}

// Charged reports whether the AM of the current attempt counts in the AM limits.
func (a *App) Charged() bool {
	return a.AttemptState >= AttemptActive && a.AttemptState <= AttemptFinishing
}

// BeginAttempt sets the fields of the current attempt for a new one.
func (a *App) BeginAttempt(number uint32, nowMillis int64) {
	a.Attempt, a.Response, a.NextNumber, a.AttemptMillis = number, 0, 0, nowMillis
	a.MasterNumber, a.MasterNode, a.LaunchedMillis, a.FinishMillis, a.Progress = 0, 0, 0, 0, 0
	if d := a.Details(); d.Host != "" || d.TrackingURL != "" || d.Diagnostics != "" {
		a.ChangeDetails(func(d *AppDetails) { d.Host, d.TrackingURL, d.Diagnostics = "", "", "" })
	}
	a.RPCPort, a.Final = 0, yarn.FinalUndefined
}

// Ending records the attempt's final status, its diagnostics and, if trackingURL is not empty, its
// tracking URL. An attempt that has ended has no clients.
func (a *App) Ending(final yarn.FinalStatus, diagnostics, trackingURL string) {
	a.Final = final
	a.ChangeDetails(func(d *AppDetails) {
		d.Diagnostics = diagnostics
		if trackingURL != "" {
			d.TrackingURL = trackingURL
		}
		if a.AttemptState == AttemptEnded {
			d.ClientKey = MasterKey{}
		}
	})
}

// Record adds the attempt that has just ended to the front of the application's history, and
// drops the oldest attempt beyond MaxHistory.
func (t *Attempts) Record(m *Meta, app AppSlot, a *App, counted bool) {
	slot, h := table.Alloc(&t.Table)
	d := a.Details()
	*h = Attempt{App: app, Number: a.Attempt, Final: a.Final, Counted: counted, Unregistered: a.FinishMillis != 0,
		StartedMillis: a.AttemptMillis, LaunchedMillis: a.LaunchedMillis, EndedMillis: m.NowMillis,
		MasterNumber: a.MasterNumber, MasterNode: a.MasterNode, Host: d.Host, RPCPort: a.RPCPort,
		TrackingURL: d.TrackingURL, Diagnostics: d.Diagnostics, Next: a.History}
	a.History = slot
	m.Fold(uint64(slot)<<32 | uint64(a.Attempt)<<1 | uint64(count(counted)))
	n, last := 1, slot
	for ; t.Get(last).Next != 0; n++ {
		if n == MaxHistory {
			t.Forget(t.Get(last).Next)
			t.Mut(last).Next = 0
			return
		}
		last = t.Get(last).Next
	}
}

// Forget removes a list of ended attempts.
func (t *Attempts) Forget(first AttemptSlot) {
	for slot := first; slot != 0; {
		next := t.Get(slot).Next
		table.Release(&t.Table, slot)
		slot = next
	}
}

// ApplicationIDsReserved applies the reservation of application numbers.
func (m *Meta) ApplicationIDsReserved(e *event.ApplicationIDsReserved) error {
	if e.App != max(m.NextApp, 1) || e.Count == 0 || e.Count > 1<<32-1-e.App {
		return Broken(e, "the next application is %d", m.NextApp)
	}
	m.NextApp = e.App + e.Count
	m.Fold(uint64(e.App)<<32 | uint64(e.Count))
	return nil
}

// LifetimeChanged applies another limit on an application's lifetime.
func (t *Apps) LifetimeChanged(m *Meta, e *event.ApplicationLifetimeChanged) error {
	_, a, err := t.Named(e, e.App)
	if err != nil {
		return err
	}
	if a.State.Ended() || e.LifetimeMillis < 0 {
		return Broken(e, "it is %s", a.State)
	}
	a.LifetimeMillis = e.LifetimeMillis
	m.Fold(uint64(e.App)<<32 ^ uint64(e.LifetimeMillis))
	return nil
}

// ForgetResponses sets GrantedIn of the containers that the AM has to DeliveredEarlier, so that no
// later response delivers them again.
func (t *Containers) ForgetResponses(a *App) {
	for slot, c := range t.Of(a) {
		if c.GrantedIn != 0 && c.GrantedIn != DeliveredEarlier {
			t.Mut(slot).GrantedIn = DeliveredEarlier
		}
	}
}

// AttemptReported applies what an AM has reported.
func (t *Apps) AttemptReported(m *Meta, e *event.AttemptReported) error {
	_, a, err := t.Named(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState != AttemptRegistered || e.Progress > WholeProgress {
		return Broken(e, "attempt is in state %d", a.AttemptState)
	}
	a.Progress = e.Progress
	url := a.Details().TrackingURL
	if e.TrackingURL != "" && e.TrackingURL != url {
		url = e.TrackingURL
		a.ChangeDetails(func(d *AppDetails) { d.TrackingURL = url })
	}
	m.Fold(uint64(e.App)<<32 | uint64(e.Progress))
	m.Fold(table.Hash(url))
	return nil
}
