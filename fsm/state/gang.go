package state

import (
	"iter"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Gangs has the gangs of applications that have not ended, by the slot of the App.
type Gangs struct{ table.Table[AppSlot, Gang] }

// GangState is the state of an application's gang.
type GangState uint8

// The states of a gang; append only.
const (
	GangAsking   GangState = iota // the attempt asks for fewer containers than the gang has members
	GangWaiting                   // the attempt asks for all members, and none is allocated
	GangStarting                  // only within a batch: not all members are allocated yet
	GangServed                    // all members were allocated; further asks under the key are not the gang's
	GangOver                      // the gang timed out; its ask is served container by container
)

// Gang is an application's gang. The gang's ask is the first one that the attempt sends under a key
// of the gang. No container of the ask is allocated or reserved until all members can start.
type Gang struct {
	Spec  yarn.Gang
	State GangState
	// Bound means that the attempt has sent the gang's ask, under Key.
	Bound bool
	Key   yarn.SchedulerKey
	// AskedMillis is when the attempt asked for the first member, SinceMillis when it had asked for
	// all. The gang's age counts from SinceMillis.
	AskedMillis, SinceMillis int64
	ExpectedMillis           int64 // when its reservations are expected to suffice; 0: it has none
	Left                     int64 // members not allocated yet; above 0 only in GangStarting
}

// HoldsBack reports whether containers of the gang's ask must not be allocated one by one.
func (g *Gang) HoldsBack() bool { return g.State == GangAsking || g.State == GangWaiting }

// Of returns the gang to which an ask belongs, or nil.
func (t *Gangs) Of(k *Ask) *Gang {
	if t.Len() == 0 || k.AM || k.IncreaseOf != 0 || !t.Has(k.App) {
		return nil
	}
	if g := t.Get(k.App); g.Bound && g.Key == k.Key {
		return g
	}
	return nil
}

// HoldsBack reports whether an ask belongs to a gang that has not started.
func (t *Gangs) HoldsBack(k *Ask) bool {
	g := t.Of(k)
	return g != nil && g.HoldsBack()
}

// follow updates an application's gang after the count of an ask has changed.
func (t *Gangs) follow(m *Meta, k *Ask) {
	if t.Len() == 0 || k.AM || k.IncreaseOf != 0 || !t.Has(k.App) {
		return
	}
	if g := t.Get(k.App); g.Spec.IsOf(k.Key) && (!g.Bound || g.Key == k.Key) {
		g = t.Mut(k.App)
		g.follow(k, m.NowMillis)
		m.fold(uint64(k.App)<<8 | uint64(g.State))
		m.fold(uint64(g.SinceMillis))
	}
}

// follow updates the gang after the count of its ask has changed.
func (g *Gang) follow(k *Ask, now int64) {
	switch {
	case g.State == GangStarting:
		if g.Left--; g.Left == 0 {
			g.State = GangServed
		}
	case !g.HoldsBack():
	case k.Count == 0:
		*g = Gang{Spec: g.Spec}
	case !g.Bound && k.Reservations != 0: // the reservations were made before the gang was declared
	default:
		if !g.Bound {
			g.Bound, g.Key, g.AskedMillis = true, k.Key, now
		}
		if complete := k.Count >= g.Spec.Count; complete != (g.State == GangWaiting) {
			g.State, g.SinceMillis = GangAsking, 0
			if complete {
				g.State, g.SinceMillis = GangWaiting, now
			}
		}
	}
}

// gangAttemptEnded resets the gang of an application, so that it waits again for the asks of the
// next attempt, or of an AM that resynced. A gang whose members still run is not reset.
func (s *Demand) gangAttemptEnded(app AppSlot, a *App) {
	if !s.Gangs.Has(app) {
		return
	}
	g := s.Gangs.Mut(app)
	for _, c := range s.Containers.Of(a) {
		if g.State == GangServed && c.Key == g.Key && c.State.Live() && !c.AM {
			return
		}
	}
	*g = Gang{Spec: g.Spec}
	s.fold(uint64(app))
}

// drop removes the gang of an application.
func (t *Gangs) drop(app AppSlot) {
	if t.Has(app) {
		t.Release(app)
	}
}

// GangReservations returns the reservations of an application's gang, with their slots.
func (s *Running) GangReservations(app AppSlot) iter.Seq2[ReservationSlot, *Reservation] {
	return func(yield func(ReservationSlot, *Reservation) bool) {
		for slot, r := range s.Reservations.Of(s.Apps.Get(app)) {
			if r.Members != 0 && !yield(slot, r) {
				return
			}
		}
	}
}

// GangReserved returns the number of members for which an application's gang has reserved nodes,
// and the number of these nodes.
func (s *Running) GangReserved(app AppSlot) (members, nodes int64) {
	for _, r := range s.GangReservations(app) {
		members += int64(r.Members)
		nodes++
	}
	return members, nodes
}

var _ = applies((*State).gangDeclared)

func (s *Running) gangDeclared(e *event.GangDeclared) error {
	slot, a, err := s.Apps.of(e, e.App)
	switch {
	case err != nil:
		return err
	case a.State.Ended() || !e.Gang.Valid():
		return broken(e, "it is %s, or there is no such gang", a.State)
	case s.gangBusy(slot):
		return broken(e, "its gang starts, or holds nodes")
	}
	for _, r := range s.Reservations.Of(a) {
		if e.Gang.IsOf(r.Key) && r.IncreaseOf == 0 {
			return broken(e, "reservation r%d is of what is to be a gang's ask", r.Number)
		}
	}
	s.Gangs.drop(slot)
	*s.Gangs.Place(slot) = Gang{Spec: e.Gang}
	s.changes.app(GangPhase, slot, a).GangState = GangAsking
	s.fold(uint64(slot))
	s.fold(table.Hash(e.Gang.String()))
	for _, k := range s.Asks.Of(a) {
		s.Gangs.follow(&s.Meta, k)
	}
	return nil
}

// gangBusy reports whether an application's gang is in GangStarting or has reservations.
func (s *Running) gangBusy(app AppSlot) bool {
	return s.Gangs.Has(app) && (s.Gangs.Get(app).Left > 0 || s.gangReserves(app))
}

func (s *Running) gangReserves(app AppSlot) bool {
	members, _ := s.GangReserved(app)
	return members > 0
}

// waitingGang returns the application and the ask of an event that requires a waiting gang.
func (s *Demand) waitingGang(e event.Event, seq uint32) (app AppSlot, a *App, ask AskSlot, err error) {
	app, a, err = s.Apps.of(e, seq)
	if err != nil {
		return 0, nil, 0, err
	}
	if !s.Gangs.Has(app) || s.Gangs.Get(app).State != GangWaiting || !a.Activated() {
		return 0, nil, 0, broken(e, "it has no gang that waits")
	}
	return app, a, s.Asks.Find(a, s.Gangs.Get(app).Key), nil
}

var _ = applies((*State).gangReserved)

func (s *Running) gangReserved(e *event.GangReserved) error {
	app, a, ask, err := s.waitingGang(e, e.App)
	if err != nil {
		return err
	}
	k := s.Asks.Get(ask)
	size := k.Size.Times(int64(e.Members))
	switch {
	case e.Members == 0 || int64(e.Members) > yarn.MaxGangMembers || e.ExpectedMillis <= 0 || !s.Nodes.Has(e.Node):
		return broken(e, "no such node, or no members")
	case e.Reservation != s.Meta.NextReservation+1 || e.Number != s.Meta.NextNumber(a):
		return broken(e, "the next reservation is %d, the next container number %d", s.Meta.NextReservation+1, s.Meta.NextNumber(a))
	}
	n := s.Nodes.Mut(e.Node)
	if !n.State.Usable() || n.Reservation != 0 || !s.Versions.fits(size, n.Total) {
		return broken(e, "node %s is %s, is reserved, or is smaller than %s", n.ID, n.State, size)
	}
	s.Meta.NextReservation = e.Reservation
	a.NextNumber = e.Number
	slot, r := s.Reservations.Alloc()
	*r = Reservation{Number: e.Reservation, App: app, Key: k.Key, Node: e.Node, Attempt: a.Attempt,
		Container: e.Number, MadeMillis: s.Meta.NowMillis, Members: e.Members}
	s.Gangs.Mut(app).ExpectedMillis = e.ExpectedMillis
	s.changeReservation(ReservationOpened, slot, r).Ask = ask
	s.enterReservation(slot, r, a, n, ask)
	s.fold(uint64(e.ExpectedMillis)<<16 ^ uint64(e.Members))
	return nil
}

var _ = applies((*State).gangStarted)

func (s *Running) gangStarted(e *event.GangStarted) error {
	app, a, _, err := s.waitingGang(e, e.App)
	if err != nil {
		return err
	}
	if s.gangReserves(app) {
		return broken(e, "it has reservations")
	}
	s.changes.app(GangPhase, app, a).GangState = GangStarting
	g := s.Gangs.Mut(app)
	g.State, g.Left, g.ExpectedMillis = GangStarting, g.Spec.Count, 0
	s.fold(uint64(app)<<32 | uint64(g.Left))
	return nil
}

var _ = applies((*State).gangEnded)

func (s *Running) gangEnded(e *event.GangEnded) error {
	slot, a, err := s.Apps.of(e, e.App)
	if err != nil {
		return err
	}
	if !s.Gangs.Has(slot) || !e.Cause.Known() || s.gangBusy(slot) {
		return broken(e, "it has no gang, or one that starts or holds nodes, or there is no such cause")
	}
	s.changes.app(GangPhase, slot, a).GangState = GangOver
	if e.Cause == yarn.GangWithdrawn {
		s.Gangs.drop(slot)
	} else {
		g := s.Gangs.Mut(slot)
		g.State, g.SinceMillis, g.ExpectedMillis = GangOver, 0, 0
	}
	s.fold(uint64(slot)<<8 | uint64(e.Cause))
	return nil
}

func (g *Gang) code(c *codec.Coder) {
	c.Gang(&g.Spec)
	codec.Enum(c, &g.State)
	c.Bool(&g.Bound)
	c.Key(&g.Key)
	c.I64(&g.AskedMillis)
	c.I64(&g.SinceMillis)
	c.I64(&g.ExpectedMillis)
	c.I64(&g.Left)
}

var gangPart = derived{part: rows(35, "gangs", func(s *State) *table.Table[AppSlot, Gang] { return &s.Gangs.Table }, (*Gang).code),
	agrees: (*State).checkGangs}
