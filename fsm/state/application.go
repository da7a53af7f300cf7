package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

var _ = applies((*State).applicationSubmitted)

func (s *Demand) applicationSubmitted(e *event.ApplicationSubmitted) error {
	if e.App == 0 || e.App == 1<<32-1 || s.Apps.Find(e.App) != 0 {
		return broken(e, "application %d is there, or no number of one", e.App)
	}
	queue := s.Queues.Find(e.Queue)
	if queue == 0 || !s.Queues.Get(queue).Leaf {
		return broken(e, "no such leaf queue")
	}
	s.Meta.NextApp = max(s.Meta.NextApp, e.App+1)
	s.Meta.Submitted++
	user := s.Names.Intern(&s.Meta, e.User)
	slot, a := table.Alloc(&s.Apps.Keyed.Table)
	*a = App{
		ID:   yarn.ApplicationID{ClusterTimestamp: s.Meta.ClusterTimestamp, Seq: e.App},
		User: user, Queue: queue, Priority: e.Priority, State: yarn.AppSubmitted,
		Unmanaged: e.Unmanaged, KeepContainers: e.KeepContainers, MaxAttempts: e.MaxAttempts,
		AM: e.AM, AMStrict: e.AMStrict, LifetimeMillis: e.LifetimeMillis, ValidityMillis: e.ValidityMillis,
		SubmittedMillis: s.Meta.NowMillis,
	}
	a.SetDetails(AppDetails{Name: e.Name, Type: e.Type, Tags: e.Tags, Context: string(e.Context), AMPlaces: e.AMPlaces})
	a.UserSlot = s.joinUser(queue, user)
	s.changes.App(change.AppPhase, slot, a).AppState = a.State
	table.InsertKeyed(&s.Apps.Keyed, slot)
	s.fold(uint64(slot)<<32 | uint64(uint32(e.Priority)))
	s.fold(uint64(queue)<<32 | uint64(user))
	s.foldResource(e.AM)
	s.fold(uint64(count(e.AMStrict)))
	for _, p := range e.AMPlaces {
		s.fold(table.Hash(p.Name) ^ uint64(count(p.Relax)))
	}
	return nil
}

var _ = applies((*State).applicationEnded)

func (s *State) applicationEnded(e *event.ApplicationEnded) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if !e.State.Ended() || e.State > yarn.AppKilled || a.State.Ended() ||
		(a.AttemptState != AttemptNone && a.AttemptState != AttemptEnded) || a.Live > 0 {
		return broken(e, "it is %s with attempt state %d and %d live containers", a.State, a.AttemptState, a.Live)
	}
	s.changes.App(change.AppPhase, slot, a).AppState = e.State
	a.State, a.Final, a.EndedMillis = e.State, e.Final, s.Meta.NowMillis
	if e.Diagnostics != "" {
		a.ChangeDetails(func(d *AppDetails) { d.Diagnostics = e.Diagnostics })
	}
	s.leaveUser(a.UserSlot)
	a.UserSlot = 0
	s.Gangs.Drop(slot)
	s.AppTokens.Ended(e.App, s.Meta.NowMillis)
	s.endNodeApplications(a)
	s.Meta.EndedApps++
	s.fold(uint64(slot)<<8 | uint64(e.State))
	return nil
}

var _ = applies((*State).applicationMoved)

func (s *State) applicationMoved(e *event.ApplicationMoved) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	to := s.Queues.Find(e.Queue)
	if to == 0 || !s.Queues.Get(to).Leaf || to == a.Queue || a.State.Ended() {
		return broken(e, "it cannot go there")
	}
	s.changes.App(change.AppChanged, slot, a)
	s.Placements.Drop(slot)
	s.detach(a)
	s.leaveUser(a.UserSlot)
	a.Queue = to
	a.UserSlot = s.joinUser(to, a.User)
	s.attach(a)
	s.fold(uint64(e.App)<<32 | uint64(to))
	s.foldResource(s.Queues.Get(to).Used)
	return nil
}

// detach subtracts what an application uses and asks from the sums of its leaf and its user. attach
// adds the same to the sums of the leaf and user that it has now.
func (s *Running) detach(a *App) { s.shift(a, -1) }
func (s *Running) attach(a *App) { s.shift(a, 1) }

func (s *Running) shift(a *App, sign int64) {
	elsewhere, containers := s.shiftLabels(a, sign)
	used, reserved := a.Used.Add(a.Reserved).Sub(elsewhere.Used), a.Reserved.Sub(elsewhere.Reserved)
	s.charge(a, 0, used.Times(sign), reserved.Times(sign), sign*(int64(a.Live+a.Reserving)-containers))
	pending := a.Pending.Sub(elsewhere.Pending).Times(sign)
	s.chain(a.Queue, func(q *Queue) { q.Pending = q.Pending.Add(pending) })
	if a.Outstanding > 0 {
		s.changeUser(a.UserSlot, func(u *User) { u.Demanding += int32(sign) })
	}
	s.countAttempt(a, int32(sign))
}

var _ = applies((*State).applicationReprioritized)

func (s *Demand) applicationReprioritized(e *event.ApplicationReprioritized) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	s.changes.App(change.AppChanged, slot, a)
	a.Priority = e.Priority
	s.fold(uint64(a.ID.Seq)<<32 | uint64(uint32(e.Priority)))
	return nil
}

var _ = applies((*State).applicationForgotten)

func (s *State) applicationForgotten(e *event.ApplicationForgotten) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if !a.State.Ended() || a.Containers != 0 || s.AppTokens.Holder(e.App) != nil {
		return broken(e, "it is %s, containers left: %v, or it has tokens", a.State, a.Containers != 0)
	}
	s.changes.App(change.AppChanged, slot, a)
	s.Queues.TallyGone(a.Queue, a)
	s.dropReservationBans(slot)
	s.Placements.Drop(slot)
	s.FormerQueues.Drop(slot)
	if s.Preempted.Has(slot) {
		table.Release(&s.Preempted.Table, slot)
	}
	s.Attempts.Forget(a.History)
	s.setBlacklist(a, nil)
	s.Names.Unretain(&s.Meta, a.User)
	table.ReleaseKeyed(&s.Apps.Keyed, slot)
	s.Meta.EndedApps--
	s.fold(uint64(slot))
	return nil
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(8, "applications",
	func(s *State) *table.Keyed[AppSlot, App, *App] { return &s.Apps.Keyed }, (*App).Code),
	Agrees: agrees((*check.Tables).CheckApps)})

// ResourceSeconds returns what an application has used over time, per resource kind: memorySeconds
// and vcoreSeconds in YARN's reports. App.ResourceSeconds has the part of ended containers;
// ResourceSeconds adds that of live ones, up to the given time in Unix milliseconds.
func (s *Demand) ResourceSeconds(a *App, nowMillis int64) yarn.Resource {
	total, live := a.ResourceSeconds, a.Live
	for _, c := range s.Containers.Of(a) {
		if live == 0 {
			break
		}
		if c.State.Live() {
			total = total.Add(s.Resizes.ResourceSeconds(c, nowMillis))
			live--
		}
	}
	return total
}

// WaitsSince returns the time since when an application has been waiting. An application without a
// registered AM waits for its AM, since its submission or, if it has run before, since its present
// attempt began. Any other one waits for a container, since it made the oldest of its present
// reservations. WaitsSince returns 0 for an application that has ended or has no reservation: the
// state does not record since when other asks wait.
func (s *Running) WaitsSince(a *App) int64 {
	switch {
	case a.State.Ended():
		return 0
	case a.State == yarn.AppSubmitted || a.State == yarn.AppAccepted:
		if a.StartedMillis == 0 {
			return a.SubmittedMillis
		}
		return a.AttemptMillis
	}
	var since int64
	for _, r := range s.Reservations.Of(a) {
		if since == 0 || r.MadeMillis < since {
			since = r.MadeMillis
		}
	}
	return since
}

// WaitingMillis returns for how long an application has been waiting at a time in Unix milliseconds,
// or 0 if WaitsSince is 0.
func (s *Running) WaitingMillis(a *App, nowMillis int64) int64 {
	since := s.WaitsSince(a)
	if since == 0 {
		return 0
	}
	return max(nowMillis-since, 0)
}
