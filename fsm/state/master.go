package state

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

// deliveredEarlier in Container.GrantedIn means that a response delivered the container before the
// current count of responses began: to an earlier attempt, or before a resync.
const deliveredEarlier int32 = -1

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

// Master returns the slot of the current attempt's AM container, or 0 if there is none.
func (s *Demand) Master(a *App) ContainerSlot {
	if a.MasterNumber == 0 {
		return 0
	}
	return s.Container(event.ContainerRef{App: a.ID.Seq, Attempt: a.Attempt, Number: a.MasterNumber})
}

// setMaster records the current attempt's AM container and its node.
func (s *Accounts) setMaster(a *App, number uint64, node NodeSlot) {
	a.MasterNumber, a.MasterNode = number, node
	s.fold(number<<32 ^ uint64(node))
}

// beginAttempt sets the fields of the current attempt for a new one.
func (a *App) beginAttempt(number uint32, nowMillis int64) {
	a.Attempt, a.Response, a.NextNumber, a.AttemptMillis = number, 0, 0, nowMillis
	a.MasterNumber, a.MasterNode, a.LaunchedMillis, a.FinishMillis, a.Progress = 0, 0, 0, 0, 0
	if d := a.Details(); d.Host != "" || d.TrackingURL != "" || d.Diagnostics != "" {
		a.changeDetails(func(d *AppDetails) { d.Host, d.TrackingURL, d.Diagnostics = "", "", "" })
	}
	a.RPCPort, a.Final = 0, yarn.FinalUndefined
}

// ending records the attempt's final status, its diagnostics and, if trackingURL is not empty, its
// tracking URL. An attempt that has ended has no clients.
func (a *App) ending(final yarn.FinalStatus, diagnostics, trackingURL string) {
	a.Final = final
	a.changeDetails(func(d *AppDetails) {
		d.Diagnostics = diagnostics
		if trackingURL != "" {
			d.TrackingURL = trackingURL
		}
		if a.AttemptState == AttemptEnded {
			d.ClientKey = MasterKey{}
		}
	})
}

// record adds the attempt that has just ended to the front of the application's history, and
// drops the oldest attempt beyond MaxHistory.
func (t *Attempts) record(m *Meta, app AppSlot, a *App, counted bool) {
	slot, h := t.Alloc()
	d := a.Details()
	*h = Attempt{App: app, Number: a.Attempt, Final: a.Final, Counted: counted, Unregistered: a.FinishMillis != 0,
		StartedMillis: a.AttemptMillis, LaunchedMillis: a.LaunchedMillis, EndedMillis: m.NowMillis,
		MasterNumber: a.MasterNumber, MasterNode: a.MasterNode, Host: d.Host, RPCPort: a.RPCPort,
		TrackingURL: d.TrackingURL, Diagnostics: d.Diagnostics, Next: a.History}
	a.History = slot
	m.fold(uint64(slot)<<32 | uint64(a.Attempt)<<1 | uint64(count(counted)))
	n, last := 1, slot
	for ; t.Get(last).Next != 0; n++ {
		if n == MaxHistory {
			t.forget(t.Get(last).Next)
			t.Mut(last).Next = 0
			return
		}
		last = t.Get(last).Next
	}
}

// forget removes a list of ended attempts.
func (t *Attempts) forget(first AttemptSlot) {
	for slot := first; slot != 0; {
		next := t.Get(slot).Next
		t.Release(slot)
		slot = next
	}
}

var _ = applies(func(s *State, e *event.ApplicationIDsReserved) error { return s.Meta.applicationIDsReserved(e) })

func (m *Meta) applicationIDsReserved(e *event.ApplicationIDsReserved) error {
	if e.App != max(m.NextApp, 1) || e.Count == 0 || e.Count > 1<<32-1-e.App {
		return broken(e, "the next application is %d", m.NextApp)
	}
	m.NextApp = e.App + e.Count
	m.fold(uint64(e.App)<<32 | uint64(e.Count))
	return nil
}

var _ = applies(func(s *State, e *event.ApplicationLifetimeChanged) error { return s.Apps.lifetimeChanged(&s.Meta, e) })

func (t *Apps) lifetimeChanged(m *Meta, e *event.ApplicationLifetimeChanged) error {
	_, a, err := t.of(e, e.App)
	if err != nil {
		return err
	}
	if a.State.Ended() || e.LifetimeMillis < 0 {
		return broken(e, "it is %s", a.State)
	}
	a.LifetimeMillis = e.LifetimeMillis
	m.fold(uint64(e.App)<<32 ^ uint64(e.LifetimeMillis))
	return nil
}

var _ = applies((*State).attemptLaunched)

func (s *Demand) attemptLaunched(e *event.AttemptLaunched) error {
	slot, a, err := s.Apps.of(e, e.App)
	if err != nil {
		return err
	}
	if !a.Charged() || a.MasterNumber == 0 || a.LaunchedMillis != 0 {
		return broken(e, "attempt is in state %d, its AM container %d was launched at %d", a.AttemptState, a.MasterNumber, a.LaunchedMillis)
	}
	s.changes.app(MasterLaunched, slot, a)
	a.LaunchedMillis = s.Meta.NowMillis
	s.fold(uint64(e.App)<<32 ^ uint64(a.LaunchedMillis))
	return nil
}

var _ = applies((*State).attemptUnregistered)

// attemptUnregistered begins the end of an attempt. It drops the asks and the undelivered list. The
// attempt's containers still count until they end.
func (s *Running) attemptUnregistered(e *event.AttemptUnregistered) error {
	slot, a, err := s.Apps.of(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState != AttemptRegistered || a.Reservations != 0 || e.Final > yarn.FinalEnded {
		return broken(e, "attempt is in state %d, reservations: %v", a.AttemptState, a.Reservations != 0)
	}
	s.changes.attempt(slot, a, AttemptFinishing)
	s.dropAsks(a)
	s.dropUndelivered(a)
	s.setAttempt(a, AttemptFinishing)
	a.ending(e.Final, e.Diagnostics, e.TrackingURL)
	a.FinishMillis, a.Progress = s.Meta.NowMillis, WholeProgress
	s.fold(uint64(e.Final)<<48 ^ uint64(a.FinishMillis))
	return nil
}

var _ = applies((*State).attemptResynced)

// attemptResynced resets the count of responses to 0. Containers that were never delivered must
// have ended before. Completions that the AM may have missed will be delivered again.
func (s *Running) attemptResynced(e *event.AttemptResynced) error {
	slot, a, err := s.Apps.of(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState != AttemptRegistered || a.Response == 0 || a.Reservations != 0 {
		return broken(e, "attempt is in state %d with response %d, reservations: %v", a.AttemptState, a.Response, a.Reservations != 0)
	}
	for _, c := range s.Containers.UndeliveredTo(a) {
		if c.State.Live() && c.GrantedIn == 0 && !c.AM {
			return broken(e, "container %d was never delivered and has not ended", c.Number)
		}
	}
	s.changes.app(AppChanged, slot, a)
	s.dropAsks(a)
	s.gangAttemptEnded(slot, a)
	s.redeliver(a)
	a.Response = 0
	s.setBlacklist(a, nil)
	s.fold(uint64(e.App)<<32 | uint64(a.Undelivered))
	return nil
}

// redeliver keeps the completions and size changes of containers that the AM has in the undelivered
// list.
func (s *Running) redeliver(a *App) {
	for slot := range s.Containers.UndeliveredTo(a) {
		c := s.Containers.Mut(slot)
		c.CompletedIn = 0
		if again := s.Resizes.redeliver(c); !again && (c.GrantedIn == 0 || c.State.Live()) {
			s.Containers.removeUndelivered(slot, a)
			if c.State == yarn.ContainerCompleted {
				s.freeContainer(slot, a)
			}
		}
	}
	s.Containers.forgetResponses(a)
	s.redeliverPreemptions(a)
}

// forgetResponses sets GrantedIn of the containers that the AM has to deliveredEarlier, so that no
// later response delivers them again.
func (t *Containers) forgetResponses(a *App) {
	for slot, c := range t.Of(a) {
		if c.GrantedIn != 0 && c.GrantedIn != deliveredEarlier {
			t.Mut(slot).GrantedIn = deliveredEarlier
		}
	}
}

var _ = applies(func(s *State, e *event.AttemptReported) error { return s.Apps.attemptReported(&s.Meta, e) })

func (t *Apps) attemptReported(m *Meta, e *event.AttemptReported) error {
	_, a, err := t.of(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState != AttemptRegistered || e.Progress > WholeProgress {
		return broken(e, "attempt is in state %d", a.AttemptState)
	}
	a.Progress = e.Progress
	url := a.Details().TrackingURL
	if e.TrackingURL != "" && e.TrackingURL != url {
		url = e.TrackingURL
		a.changeDetails(func(d *AppDetails) { d.TrackingURL = url })
	}
	m.fold(uint64(e.App)<<32 | uint64(e.Progress))
	m.fold(table.Hash(url))
	return nil
}

var attemptPart = derived{part: rows(16, "attempts", func(s *State) *table.Table[AttemptSlot, Attempt] { return &s.Attempts.Table }, (*Attempt).code),
	agrees: (*State).checkMasters}
