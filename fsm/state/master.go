package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

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

var _ = applies(func(s *State, e *event.ApplicationIDsReserved) error { return s.Meta.ApplicationIDsReserved(e) })
var _ = applies(func(s *State, e *event.ApplicationLifetimeChanged) error { return s.Apps.LifetimeChanged(&s.Meta, e) })
var _ = applies((*State).attemptLaunched)

func (s *Demand) attemptLaunched(e *event.AttemptLaunched) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if !a.Charged() || a.MasterNumber == 0 || a.LaunchedMillis != 0 {
		return broken(e, "attempt is in state %d, its AM container %d was launched at %d", a.AttemptState, a.MasterNumber,
			a.LaunchedMillis)
	}
	s.changes.App(change.MasterLaunched, slot, a)
	a.LaunchedMillis = s.Meta.NowMillis
	s.fold(uint64(e.App)<<32 ^ uint64(a.LaunchedMillis))
	return nil
}

var _ = applies((*State).attemptUnregistered)

// attemptUnregistered begins the end of an attempt. It drops the asks and the undelivered list. The
// attempt's containers still count until they end.
func (s *Running) attemptUnregistered(e *event.AttemptUnregistered) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState != AttemptRegistered || a.Reservations != 0 || e.Final > yarn.FinalEnded {
		return broken(e, "attempt is in state %d, reservations: %v", a.AttemptState, a.Reservations != 0)
	}
	s.changes.Attempt(slot, a, AttemptFinishing)
	s.dropAsks(a)
	s.dropUndelivered(a)
	s.setAttempt(a, AttemptFinishing)
	a.Ending(e.Final, e.Diagnostics, e.TrackingURL)
	a.FinishMillis, a.Progress = s.Meta.NowMillis, WholeProgress
	s.fold(uint64(e.Final)<<48 ^ uint64(a.FinishMillis))
	return nil
}

var _ = applies((*State).attemptResynced)

// attemptResynced resets the count of responses to 0. Containers that were never delivered must
// have ended before. Completions that the AM may have missed will be delivered again.
func (s *Running) attemptResynced(e *event.AttemptResynced) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState != AttemptRegistered || a.Response == 0 || a.Reservations != 0 {
		return broken(e, "attempt is in state %d with response %d, reservations: %v", a.AttemptState, a.Response,
			a.Reservations != 0)
	}
	for _, c := range s.Containers.UndeliveredTo(a) {
		if c.State.Live() && c.GrantedIn == 0 && !c.AM {
			return broken(e, "container %d was never delivered and has not ended", c.Number)
		}
	}
	s.changes.App(change.AppChanged, slot, a)
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
		if again := s.Resizes.Redeliver(c); !again && (c.GrantedIn == 0 || c.State.Live()) {
			s.Containers.RemoveUndelivered(slot, a)
			if c.State == yarn.ContainerCompleted {
				s.freeContainer(slot, a)
			}
		}
	}
	s.Containers.ForgetResponses(a)
	s.redeliverPreemptions(a)
}

var _ = applies(func(s *State, e *event.AttemptReported) error { return s.Apps.AttemptReported(&s.Meta, e) })

var _ = stored(1, part.Derived[State]{Part: part.Rows(16, "attempts",
	func(s *State) *table.Table[AttemptSlot, Attempt] { return &s.Attempts.Table }, (*Attempt).Code),
	Agrees: agrees((*check.Tables).CheckMasters)})
