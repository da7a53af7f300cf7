package state

import (
	"rmd/fsm/event"
	"rmd/yarn"
)

// Apps is the table of applications.
type Apps struct{ Keyed[AppSlot, App, *App] }

// Find returns the slot of the application with the given sequence number, or 0 if there is none.
func (t *Apps) Find(seq uint32) AppSlot {
	return t.find(hash64(uint64(seq)), func(r *App) bool { return r.ID.Seq == seq })
}

// ByID returns the slot of an application, or 0 if there is none.
func (t *Apps) ByID(id yarn.ApplicationID) AppSlot {
	slot := t.Find(id.Seq)
	if slot == 0 || t.Get(slot).ID != id {
		return 0
	}
	return slot
}

func (a *App) hash() uint64         { return hash64(uint64(a.ID.Seq)) }
func (a *App) same(other *App) bool { return a.ID.Seq == other.ID.Seq }

// of returns the application of an event, ready for writing.
func (t *Apps) of(e event.Event, seq uint32) (AppSlot, *App, error) {
	slot := t.Find(seq)
	if slot == 0 {
		return 0, nil, broken(e, "no application %d", seq)
	}
	return slot, t.mut(slot), nil
}

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
	user := s.Names.intern(&s.Meta, e.User)
	slot, a := s.Apps.alloc()
	*a = App{
		ID:       yarn.ApplicationID{ClusterTimestamp: s.Meta.ClusterTimestamp, Seq: e.App},
		details:  pack(AppDetails{Name: e.Name, Type: e.Type, Tags: e.Tags, Context: string(e.Context), AMPlaces: e.AMPlaces}),
		nameHash: hashOfAppName(e.Name), declaredMillis: declaredLifetime(e.Tags),
		User: user, Queue: queue, Priority: e.Priority, State: yarn.AppSubmitted,
		Unmanaged: e.Unmanaged, KeepContainers: e.KeepContainers, MaxAttempts: e.MaxAttempts,
		AM: e.AM, AMStrict: e.AMStrict, LifetimeMillis: e.LifetimeMillis, ValidityMillis: e.ValidityMillis, SubmittedMillis: s.Meta.NowMillis,
	}
	a.UserSlot = s.joinUser(queue, user)
	s.changes.app(AppPhase, slot, a).AppState = a.State
	s.Apps.insert(slot)
	s.fold(uint64(slot)<<32 | uint64(uint32(e.Priority)))
	s.fold(uint64(queue)<<32 | uint64(user))
	s.foldResource(e.AM)
	s.fold(uint64(count(e.AMStrict)))
	for _, p := range e.AMPlaces {
		s.fold(hashString(p.Name) ^ uint64(count(p.Relax)))
	}
	return nil
}

var _ = applies((*State).applicationEnded)

func (s *State) applicationEnded(e *event.ApplicationEnded) error {
	slot, a, err := s.Apps.of(e, e.App)
	if err != nil {
		return err
	}
	if !e.State.Ended() || e.State > yarn.AppKilled || a.State.Ended() || (a.AttemptState != AttemptNone && a.AttemptState != AttemptEnded) || a.Live > 0 {
		return broken(e, "it is %s with attempt state %d and %d live containers", a.State, a.AttemptState, a.Live)
	}
	s.changes.app(AppPhase, slot, a).AppState = e.State
	a.State, a.Final, a.EndedMillis = e.State, e.Final, s.Meta.NowMillis
	if e.Diagnostics != "" {
		a.changeDetails(func(d *AppDetails) { d.Diagnostics = e.Diagnostics })
	}
	s.leaveUser(a.UserSlot)
	a.UserSlot = 0
	s.Gangs.drop(slot)
	s.endNodeApplications(a)
	s.Meta.EndedApps++
	s.fold(uint64(slot)<<8 | uint64(e.State))
	return nil
}

var _ = applies((*State).applicationMoved)

func (s *State) applicationMoved(e *event.ApplicationMoved) error {
	slot, a, err := s.Apps.of(e, e.App)
	if err != nil {
		return err
	}
	to := s.Queues.Find(e.Queue)
	if to == 0 || !s.Queues.Get(to).Leaf || to == a.Queue || a.State.Ended() {
		return broken(e, "it cannot go there")
	}
	s.changes.app(AppChanged, slot, a)
	s.Placements.drop(slot)
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
func (s *State) detach(a *App) { s.shift(a, -1) }
func (s *State) attach(a *App) { s.shift(a, 1) }

func (s *State) shift(a *App, sign int64) {
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
	slot, a, err := s.Apps.of(e, e.App)
	if err != nil {
		return err
	}
	s.changes.app(AppChanged, slot, a)
	a.Priority = e.Priority
	s.fold(uint64(a.ID.Seq)<<32 | uint64(uint32(e.Priority)))
	return nil
}

var _ = applies((*State).applicationForgotten)

func (s *State) applicationForgotten(e *event.ApplicationForgotten) error {
	slot, a, err := s.Apps.of(e, e.App)
	if err != nil {
		return err
	}
	if !a.State.Ended() || a.Containers != 0 {
		return broken(e, "it is %s, containers left: %v", a.State, a.Containers != 0)
	}
	s.changes.app(AppChanged, slot, a)
	s.Queues.tallyGone(a.Queue, a)
	s.dropReservationBans(slot)
	s.Placements.drop(slot)
	s.FormerQueues.drop(slot)
	if s.Preempted.Has(slot) {
		s.Preempted.release(slot)
	}
	s.Attempts.forget(a.History)
	s.setBlacklist(a, nil)
	s.Names.unretain(&s.Meta, a.User)
	s.Apps.release(slot)
	s.Meta.EndedApps--
	s.fold(uint64(slot))
	return nil
}

var appPart = derived{part: keyedTable(8, "applications", func(s *State) *Keyed[AppSlot, App, *App] { return &s.Apps.Keyed }, (*App).code),
	agrees: (*State).checkApps}
