package state

import (
	"iter"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

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
	slot, a, err := s.Apps.Named(e, e.App)
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
	s.Gangs.Drop(slot)
	*table.Place(&s.Gangs.Table, slot) = Gang{Spec: e.Gang}
	s.changes.App(change.GangPhase, slot, a).GangState = GangAsking
	s.fold(uint64(slot))
	s.fold(table.Hash(e.Gang.String()))
	for _, k := range s.Asks.Of(a) {
		s.Gangs.Follow(&s.Meta, k)
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
	app, a, err = s.Apps.Named(e, seq)
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
		return broken(e, "the next reservation is %d, the next container number %d", s.Meta.NextReservation+1,
			s.Meta.NextNumber(a))
	}
	n := s.Nodes.Mut(e.Node)
	if !n.State.Usable() || n.Reservation != 0 || !s.Versions.Fits(size, n.Total) {
		return broken(e, "node %s is %s, is reserved, or is smaller than %s", n.ID, n.State, size)
	}
	s.Meta.NextReservation = e.Reservation
	a.NextNumber = e.Number
	slot, r := table.Alloc(&s.Reservations.Keyed.Table)
	*r = Reservation{Number: e.Reservation, App: app, Key: k.Key, Node: e.Node, Attempt: a.Attempt,
		Container: e.Number, MadeMillis: s.Meta.NowMillis, Members: e.Members}
	s.Gangs.Mut(app).ExpectedMillis = e.ExpectedMillis
	s.changeReservation(change.ReservationOpened, slot, r).Ask = ask
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
	s.changes.App(change.GangPhase, app, a).GangState = GangStarting
	g := s.Gangs.Mut(app)
	g.State, g.Left, g.ExpectedMillis = GangStarting, g.Spec.Count, 0
	s.fold(uint64(app)<<32 | uint64(g.Left))
	return nil
}

var _ = applies((*State).gangEnded)

func (s *Running) gangEnded(e *event.GangEnded) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if !s.Gangs.Has(slot) || !e.Cause.Known() || s.gangBusy(slot) {
		return broken(e, "it has no gang, or one that starts or holds nodes, or there is no such cause")
	}
	s.changes.App(change.GangPhase, slot, a).GangState = GangOver
	if e.Cause == yarn.GangWithdrawn {
		s.Gangs.Drop(slot)
	} else {
		g := s.Gangs.Mut(slot)
		g.State, g.SinceMillis, g.ExpectedMillis = GangOver, 0, 0
	}
	s.fold(uint64(slot)<<8 | uint64(e.Cause))
	return nil
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(35, "gangs",
	func(s *State) *table.Table[AppSlot, Gang] { return &s.Gangs.Table }, (*Gang).Code),
	Agrees: agrees((*check.Tables).CheckGangs)})
