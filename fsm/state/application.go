package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// App is one application with its current attempt. The fields from ID to EndedMillis belong to the
// whole application, those from Attempt to Progress to the current attempt; beginAttempt clears
// these. The rest is what the application uses, and the heads of its lists.
type App struct {
	ID             yarn.ApplicationID
	details        packed     // see Details
	nameHash       uint64     // see hashOfAppName; not in snapshots: follows from the name
	declaredMillis int64      // see yarn.DeclaredLifetime; not in snapshots: follows from the tags
	Blacklist      []NameSlot // hosts and racks, sorted; replaced whole, never written in place
	User           NameSlot
	Queue          QueueSlot // the leaf; 0: the application has ended and the queue was removed
	UserSlot       UserSlot  // the User to which it is charged; 0: the application has ended
	Priority       int32
	State          yarn.ApplicationState
	Final          yarn.FinalStatus
	Unmanaged      bool // its AM runs outside the cluster and counts in no AM limit
	KeepContainers bool // across attempts
	MaxAttempts    uint32
	Failures       uint32 // attempts that counted toward MaxAttempts
	AM             yarn.Resource
	AMStrict       bool      // the AM may run only at AppDetails.AMPlaces
	labelled       bool      // AppDetails has a label
	AMLabel        LabelSlot // the partition to which its AM is charged
	LifetimeMillis int64     // after SubmittedMillis; 0: no limit
	ValidityMillis int64     // failures older than this do not count; 0: all count

	SubmittedMillis int64
	StartedMillis   int64 // when its first AM registered
	EndedMillis     int64

	Attempt       uint32
	AttemptState  AttemptState
	AttemptMillis int64  // when the attempt began
	Response      int32  // number of the last allocate response
	NextNumber    uint64 // the last container number given; see Meta.NextNumber
	// MasterNumber and MasterNode are the number of the AM's container and of its node.
	// MasterNumber is 0 before the container is allocated. MasterNode is also 0 while the node of
	// an AM that was taken over has not registered, and after the node was forgotten.
	MasterNumber   uint64
	MasterNode     NodeSlot
	LaunchedMillis int64  // when the node started the AM
	FinishMillis   int64  // when the AM unregistered
	Progress       uint32 // hundredths of a percent

	Used     yarn.Resource // live containers
	Reserved yarn.Resource // reservations, increases included
	Pending  yarn.Resource // size times count of its asks
	// ResourceSeconds is what containers of all attempts used until they ended or were resized.
	// State.ResourceSeconds adds the live ones.
	ResourceSeconds yarn.Resource

	RPCPort int32 // of the AM

	Asks             AskSlot             // first Ask, in key order; those for increases come last
	Outstanding      int64               // sum of Ask.Count
	Containers       ContainerSlot       // first Container, of all attempts, that is not freed
	Live             int32               // number of live containers
	Undelivered      ContainerSlot       // first Container with something undelivered or unacknowledged
	Reservations     ReservationSlot     // first Reservation
	Reserving        int32               // number of its reservations
	History          AttemptSlot         // newest ended Attempt
	NodeApplications NodeApplicationSlot // first NodeApplication; empty when it has ended
}

// Runnable reports whether the current attempt counts toward the limits on parallel applications:
// it waits for activation, runs, or finishes.
func (a *App) Runnable() bool {
	return a.AttemptState >= AttemptPending && a.AttemptState <= AttemptFinishing
}

// Activated reports whether scheduling passes consider the application.
func (a *App) Activated() bool {
	return a.AttemptState == AttemptActive || a.AttemptState == AttemptRegistered
}

// AttemptID returns the id of the current attempt.
func (a *App) AttemptID() yarn.AttemptID { return yarn.AttemptID{App: a.ID, Attempt: a.Attempt} }

func (a *App) code(c *codec.Coder) {
	d := a.Details()
	c.ApplicationID(&a.ID)
	c.String(&d.Name)
	codec.Slot(c, &a.User)
	c.String(&d.Type)
	codeStrings(c, &d.Tags)
	c.String(&d.Context)
	codec.Slot(c, &a.Queue)
	codec.Slot(c, &a.UserSlot)
	c.I32(&a.Priority)
	codec.Enum(c, &a.State)
	codec.Enum(c, &a.Final)
	c.Bool(&a.Unmanaged)
	c.Bool(&a.KeepContainers)
	c.U32(&a.MaxAttempts)
	c.U32(&a.Failures)
	c.Resource(&a.AM)
	c.I64(&a.LifetimeMillis)
	c.I64(&a.ValidityMillis)
	c.I64(&a.SubmittedMillis)
	c.I64(&a.StartedMillis)
	c.I64(&a.EndedMillis)
	c.Resource(&a.ResourceSeconds)
	codec.List(c, &d.AMPlaces, func(c *codec.Coder, p *yarn.Place) {
		c.String(&p.Name)
		c.Bool(&p.Relax)
	})
	c.Bool(&a.AMStrict)
	a.codeAttempt(c, &d)
	codec.Slot(c, &a.AMLabel)
	c.String(&d.Label)
	c.String(&d.AMLabel)
	if c.Decoding() {
		a.details, a.nameHash, a.declaredMillis = pack(d), hashOfAppName(d.Name), declaredLifetime(d.Tags)
		a.labelled = d.Label != "" || d.AMLabel != ""
	}
}

func (a *App) codeAttempt(c *codec.Coder, d *AppDetails) {
	c.U32(&a.Attempt)
	codec.Enum(c, &a.AttemptState)
	c.I64(&a.AttemptMillis)
	c.I32(&a.Response)
	c.U64(&a.NextNumber)
	c.U64(&a.MasterNumber)
	codec.Slot(c, &a.MasterNode)
	c.I64(&a.LaunchedMillis)
	c.I64(&a.FinishMillis)
	c.U32(&a.Progress)
	c.Resource(&a.Used)
	c.Resource(&a.Reserved)
	c.Resource(&a.Pending)
	c.String(&d.Host)
	c.I32(&a.RPCPort)
	c.String(&d.TrackingURL)
	c.String(&d.Diagnostics)
	c.Raw(&d.ClientKey.Bytes)
	codec.Enum(c, &d.ClientKey.Algorithm)
	codec.Slot(c, &a.Asks)
	c.I64(&a.Outstanding)
	codec.Slot(c, &a.Containers)
	c.I32(&a.Live)
	codec.Slot(c, &a.Undelivered)
	codec.Slot(c, &a.Reservations)
	c.I32(&a.Reserving)
	codeSlots(c, &a.Blacklist)
	codec.Slot(c, &a.History)
	codec.Slot(c, &a.NodeApplications)
}

// Apps is the table of applications.
type Apps struct {
	table.Keyed[AppSlot, App, *App]
}

// Find returns the slot of the application with the given sequence number, or 0 if there is none.
func (t *Apps) Find(seq uint32) AppSlot {
	return t.Lookup(table.Mix(uint64(seq)), func(r *App) bool { return r.ID.Seq == seq })
}

// ByID returns the slot of an application, or 0 if there is none.
func (t *Apps) ByID(id yarn.ApplicationID) AppSlot {
	slot := t.Find(id.Seq)
	if slot == 0 || t.Get(slot).ID != id {
		return 0
	}
	return slot
}

func (a *App) Hash() uint64         { return table.Mix(uint64(a.ID.Seq)) }
func (a *App) Same(other *App) bool { return a.ID.Seq == other.ID.Seq }

// of returns the application of an event, ready for writing.
func (t *Apps) of(e event.Event, seq uint32) (AppSlot, *App, error) {
	slot := t.Find(seq)
	if slot == 0 {
		return 0, nil, broken(e, "no application %d", seq)
	}
	return slot, t.Mut(slot), nil
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
	slot, a := s.Apps.Alloc()
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
	s.Apps.Insert(slot)
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
	s.AppTokens.Ended(e.App, s.Meta.NowMillis)
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
	if !a.State.Ended() || a.Containers != 0 || s.AppTokens.Holder(e.App) != nil {
		return broken(e, "it is %s, containers left: %v, or it has tokens", a.State, a.Containers != 0)
	}
	s.changes.app(AppChanged, slot, a)
	s.Queues.tallyGone(a.Queue, a)
	s.dropReservationBans(slot)
	s.Placements.drop(slot)
	s.FormerQueues.drop(slot)
	if s.Preempted.Has(slot) {
		s.Preempted.Release(slot)
	}
	s.Attempts.forget(a.History)
	s.setBlacklist(a, nil)
	s.Names.unretain(&s.Meta, a.User)
	s.Apps.Release(slot)
	s.Meta.EndedApps--
	s.fold(uint64(slot))
	return nil
}

var appPart = derived{part: keyedRows(8, "applications", func(s *State) *table.Keyed[AppSlot, App, *App] { return &s.Apps.Keyed }, (*App).code),
	agrees: (*State).checkApps}
