package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// setAttempt sets the state of the current attempt and updates the counts of the leaf, its
// ancestors and the user.
func (s *Accounts) setAttempt(a *App, to AttemptState) {
	s.countAttempt(a, -1)
	a.AttemptState = to
	s.fold(uint64(a.ID.Seq)<<8 | uint64(to))
	s.countAttempt(a, 1)
}

// countAttempt adds (sign 1) or subtracts (sign -1) the counts that follow from a.AttemptState.
func (s *Accounts) countAttempt(a *App, sign int32) {
	if a.UserSlot == 0 || a.AttemptState == AttemptNone || a.AttemptState == AttemptEnded {
		return
	}
	q := s.Queues.Mut(a.Queue)
	switch a.AttemptState {
	case AttemptNonRunnable:
		q.NonRunnableApps += sign
		return
	case AttemptPending:
		q.PendingApps += sign
		s.changeUser(a.UserSlot, func(u *User) { u.Pending += sign })
	case AttemptActive, AttemptRegistered, AttemptFinishing:
		am := a.AMCharge().Times(int64(sign))
		if a.AMLabel != 0 {
			s.LabelUses.ChargeAM(a, am)
			am = yarn.Resource{}
		}
		q.ActiveApps += sign
		q.AMUsed = q.AMUsed.Add(am)
		s.changeUser(a.UserSlot, func(u *User) {
			u.Active += sign
			u.AMUsed = u.AMUsed.Add(am)
		})
	}
	s.chain(a.Queue, func(q *Queue) { q.Runnable += sign })
}

var _ = applies((*State).attemptStarted)

func (s *Demand) attemptStarted(e *event.AttemptStarted) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	madeRunnable := a.AttemptState == AttemptNonRunnable && e.Attempt == a.Attempt && !e.NonRunnable
	fresh := (a.AttemptState == AttemptNone || a.AttemptState == AttemptEnded) && e.Attempt == a.Attempt+1
	if a.State.Ended() || (!madeRunnable && !fresh) {
		return broken(e, "it is %s, attempt %d in state %d", a.State, a.Attempt, a.AttemptState)
	}
	to := AttemptPending
	if e.NonRunnable {
		to = AttemptNonRunnable
	}
	if fresh {
		a.BeginAttempt(e.Attempt, s.Meta.NowMillis)
		if a.Labelled {
			a.AMLabel = s.Labels.Find(a.Details().AMLabel)
		} else {
			a.AMLabel = 0
		}
	}
	a.State = yarn.AppAccepted
	s.changes.Attempt(slot, a, to)
	s.setAttempt(a, to)
	return nil
}

var _ = applies((*State).attemptActivated)

func (s *Demand) attemptActivated(e *event.AttemptActivated) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState != AttemptPending {
		return broken(e, "attempt is in state %d", a.AttemptState)
	}
	s.changes.Attempt(slot, a, AttemptActive)
	s.setAttempt(a, AttemptActive)
	return nil
}

var _ = applies((*State).attemptRegistered)

func (s *Running) attemptRegistered(e *event.AttemptRegistered) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState != AttemptActive || e.ClientAlgorithm >= yarn.HMACs {
		return broken(e, "attempt is in state %d, or there is no such algorithm", a.AttemptState)
	}
	s.changes.Attempt(slot, a, AttemptRegistered)
	s.setAttempt(a, AttemptRegistered)
	s.redeliverPreemptions(a)
	a.State = yarn.AppRunning
	if a.StartedMillis == 0 {
		a.StartedMillis = s.Meta.NowMillis
	}
	a.RPCPort = e.RPCPort
	key := MasterKey{Bytes: e.ClientKey, Algorithm: e.ClientAlgorithm}
	a.ChangeDetails(func(d *AppDetails) { d.Host, d.TrackingURL, d.ClientKey = e.Host, e.TrackingURL, key })
	if len(e.ClientKey) > 0 {
		s.fold(table.Hash(string(e.ClientKey)) ^ uint64(e.ClientAlgorithm))
	}
	return nil
}

var _ = applies((*State).attemptEnded)

func (s *State) attemptEnded(e *event.AttemptEnded) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if a.AttemptState == AttemptNone || a.AttemptState == AttemptEnded || e.Final > yarn.FinalEnded {
		return broken(e, "attempt is in state %d", a.AttemptState)
	}
	if a.Reservations != 0 || (!e.Keep && a.Live > 0) {
		return broken(e, "it has %d live containers and reservations: %v", a.Live, a.Reservations != 0)
	}
	s.changes.Attempt(slot, a, AttemptEnded)
	s.dropAsks(a)
	s.setBlacklist(a, nil)
	s.gangAttemptEnded(slot, a)
	s.dropUndelivered(a)
	s.Containers.ForgetResponses(a)
	s.setAttempt(a, AttemptEnded)
	if e.Counts {
		a.Failures++
	}
	a.Ending(e.Final, e.Diagnostics, e.TrackingURL)
	s.Attempts.Record(&s.Meta, slot, a, e.Counts)
	return nil
}

// dropUndelivered clears the undelivered list of an attempt that has ended.
func (s *Running) dropUndelivered(a *App) {
	for slot := range s.Containers.UndeliveredTo(a) {
		c := s.Containers.Mut(slot)
		c.Undelivered, c.PrevUndelivered, c.NextUndelivered = false, 0, 0
		s.Resizes.ForgetChange(c)
		if c.State == yarn.ContainerCompleted {
			s.freeContainer(slot, a)
		}
	}
	a.Undelivered = 0
}

var _ = applies((*State).responseRecorded)

func (s *Running) responseRecorded(e *event.ResponseRecorded) error {
	_, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if e.Response <= a.Response {
		return broken(e, "response %d is given", a.Response)
	}
	a.Response = e.Response
	s.deliver(a)
	s.fold(uint64(e.App)<<32 | uint64(uint32(e.Response)))
	s.fold(uint64(a.Undelivered))
	return nil
}

// deliver stamps all new information in the undelivered list with the response just given. It
// removes containers whose information an earlier response has delivered: an AM that asks for the
// next response has acknowledged the earlier ones.
func (s *Running) deliver(a *App) {
	for slot := range s.Containers.UndeliveredTo(a) {
		c := s.Containers.Mut(slot)
		if !s.deliverContainer(slot, c, a.Response) {
			s.Containers.RemoveUndelivered(slot, a)
			if c.State == yarn.ContainerCompleted {
				s.freeContainer(slot, a)
			}
		}
	}
}

// deliverContainer stamps a container with the response that delivers it. It returns false if an
// earlier response has delivered everything about the container.
func (s *Running) deliverContainer(slot ContainerSlot, c *Container, response int32) bool {
	earlier := true
	if c.GrantedIn == 0 && !c.AM { // an AM's container is listed only for a size change
		c.GrantedIn, earlier = response, false
		if c.State == yarn.ContainerAllocated {
			c.State = yarn.ContainerAcquired
			if c.Launched { // kept from an earlier attempt, started before this response
				c.State = yarn.ContainerRunning
			}
		}
	}
	if s.Resizes.Deliver(c, response) {
		earlier = false
	}
	if s.Preemptions.Deliver(slot, response) {
		earlier = false
	}
	if c.State >= yarn.ContainerReleasing && c.CompletedIn == 0 {
		c.CompletedIn, earlier = response, false
	}
	return !earlier
}
