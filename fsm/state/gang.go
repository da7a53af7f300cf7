package state

import (
	"iter"

	"rmd/fsm/event"
	"rmd/internal/codec"
	"rmd/yarn"
)

// GangState is where an application's gang stands.
type GangState uint8

// Gang states; append only.
const (
	GangAsking   GangState = iota // the attempt asks for fewer containers than the gang has members
	GangWaiting                   // all members are asked for, and none is allocated
	GangStarting                  // in a batch: GangStarted came, and members are still to be allocated
	GangServed                    // all members were allocated; what is asked for beyond is not the gang's
	GangOver                      // it timed out: its ask is served one by one
)

// Gang is an application's gang. Its ask is that of the first key that is of the gang; nothing of the
// ask is allocated or reserved until all members start.
type Gang struct {
	Spec  yarn.Gang
	State GangState
	// Bound says that Key is the key of the gang's ask.
	Bound bool
	Key   yarn.SchedulerKey
	// AskedMillis is when the first member was asked for, SinceMillis when all were: the gang's age.
	AskedMillis, SinceMillis int64
	ExpectedMillis           int64 // when its reservations were expected to suffice; 0: it has none
	Left                     int64 // members to be allocated still; above 0 in GangStarting alone
}

// HoldsBack says that containers of the gang's ask are not allocated one by one.
func (g *Gang) HoldsBack() bool { return g.State == GangAsking || g.State == GangWaiting }

// GangOf is the gang that an ask is of; nil when it is of none.
func (s *State) GangOf(k *Ask) *Gang {
	if s.Gangs.Len() == 0 || k.AM || k.IncreaseOf != 0 || !s.Gangs.Has(k.App) {
		return nil
	}
	if g := s.Gangs.Get(k.App); g.Bound && g.Key == k.Key {
		return g
	}
	return nil
}

// HoldsBack says whether an ask is of a gang that has not started.
func (s *State) HoldsBack(k *Ask) bool {
	g := s.GangOf(k)
	return g != nil && g.HoldsBack()
}

// followGang brings an application's gang up to date when the count of an ask has changed.
func (s *State) followGang(k *Ask) {
	if s.Gangs.Len() == 0 || k.AM || k.IncreaseOf != 0 || !s.Gangs.Has(k.App) {
		return
	}
	if g := s.Gangs.Get(k.App); g.Spec.IsOf(k.Key) && (!g.Bound || g.Key == k.Key) {
		g = s.Gangs.mut(k.App)
		g.follow(k, s.Meta.NowMillis)
		s.fold(uint64(k.App)<<8 | uint64(g.State))
		s.fold(uint64(g.SinceMillis))
	}
}

// follow is followGang for an ask that is the gang's.
func (g *Gang) follow(k *Ask, now int64) {
	switch {
	case g.State == GangStarting:
		if g.Left--; g.Left == 0 {
			g.State = GangServed
		}
	case !g.HoldsBack():
	case k.Count == 0:
		*g = Gang{Spec: g.Spec}
	case !g.Bound && k.Reservations != 0: // they are of a time when it was no gang's ask
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

// gangAttemptEnded has the gang of an application wait again for the next attempt, or for an AM that
// starts over, unless members run on.
func (s *State) gangAttemptEnded(app uint32, a *App) {
	if !s.Gangs.Has(app) {
		return
	}
	g := s.Gangs.mut(app)
	for _, c := range s.ContainersOf(a) {
		if g.State == GangServed && c.Key == g.Key && c.State.Live() && !c.AM {
			return
		}
	}
	*g = Gang{Spec: g.Spec}
	s.fold(uint64(app))
}

// dropGang forgets the gang of an application.
func (s *State) dropGang(app uint32) {
	if s.Gangs.Has(app) {
		s.Gangs.release(app)
	}
}

// GangReservations are the reservations that an application's gang has, with their slots.
func (s *State) GangReservations(app uint32) iter.Seq2[uint32, *Reservation] {
	return func(yield func(uint32, *Reservation) bool) {
		for slot, r := range s.ReservationsOf(s.Apps.Get(app)) {
			if r.Members != 0 && !yield(slot, r) {
				return
			}
		}
	}
}

// GangReserved is the number of members that an application's gang has reserved nodes for, and the
// number of those nodes.
func (s *State) GangReserved(app uint32) (members, nodes int64) {
	for _, r := range s.GangReservations(app) {
		members += int64(r.Members)
		nodes++
	}
	return members, nodes
}

func (s *State) gangDeclared(e *event.GangDeclared) error {
	slot, a, err := s.appOf(e, e.App)
	switch {
	case err != nil:
		return err
	case s.Meta.Level < event.LevelGangs:
		return broken(e, "the feature level is %d", s.Meta.Level)
	case a.State.Ended() || !e.Gang.Valid():
		return broken(e, "it is %s, or there is no such gang", a.State)
	case s.gangBusy(slot):
		return broken(e, "its gang starts, or holds nodes")
	}
	for _, r := range s.ReservationsOf(a) {
		if e.Gang.IsOf(r.Key) && r.IncreaseOf == 0 {
			return broken(e, "reservation r%d is of what is to be a gang's ask", r.Number)
		}
	}
	s.dropGang(slot)
	*s.Gangs.place(slot) = Gang{Spec: e.Gang}
	s.touchApp(slot, a)
	s.fold(uint64(slot))
	s.fold(hashString(e.Gang.String()))
	for _, k := range s.AsksOf(a) {
		s.followGang(k)
	}
	return nil
}

// gangBusy says whether an application's gang starts in this batch, or has reservations.
func (s *State) gangBusy(app uint32) bool {
	return s.Gangs.Has(app) && (s.Gangs.Get(app).Left > 0 || s.gangReserves(app))
}

func (s *State) gangReserves(app uint32) bool {
	members, _ := s.GangReserved(app)
	return members > 0
}

// waitingGang is the gang of an event that only a gang may have which waits.
func (s *State) waitingGang(e event.Event, seq uint32) (app uint32, a *App, ask uint32, err error) {
	app, a, err = s.appOf(e, seq)
	if err != nil {
		return 0, nil, 0, err
	}
	if !s.Gangs.Has(app) || s.Gangs.Get(app).State != GangWaiting || !a.Activated() {
		return 0, nil, 0, broken(e, "it has no gang that waits")
	}
	return app, a, s.Ask(a, s.Gangs.Get(app).Key), nil
}

func (s *State) gangReserved(e *event.GangReserved) error {
	app, a, ask, err := s.waitingGang(e, e.App)
	if err != nil {
		return err
	}
	k := s.Asks.Get(ask)
	size := k.Size.Times(int64(e.Members))
	switch {
	case e.Members == 0 || int64(e.Members) > yarn.MaxGangMembers || e.ExpectedMillis <= 0 || !s.Nodes.Has(e.Node):
		return broken(e, "no such node, or no members")
	case e.Reservation != s.Meta.NextReservation+1 || e.Number != s.NextNumber(a):
		return broken(e, "the next reservation is %d, the next container number %d", s.Meta.NextReservation+1, s.NextNumber(a))
	}
	n := s.Nodes.mut(e.Node)
	if !n.State.Usable() || n.Reservation != 0 || !s.fits(size, n.Total) {
		return broken(e, "node %s is %s, is reserved, or is smaller than %s", n.ID, n.State, size)
	}
	s.touchApp(app, a)
	s.touchNode(e.Node)
	s.Meta.NextReservation = e.Reservation
	a.NextNumber = e.Number
	slot, r := s.Reservations.alloc()
	*r = Reservation{Number: e.Reservation, App: app, Key: k.Key, Node: e.Node, Attempt: a.Attempt,
		Container: e.Number, MadeMillis: s.Meta.NowMillis, Members: e.Members}
	s.Gangs.mut(app).ExpectedMillis = e.ExpectedMillis
	s.enterReservation(slot, r, a, n, ask)
	s.fold(uint64(e.ExpectedMillis)<<16 ^ uint64(e.Members))
	return nil
}

func (s *State) gangStarted(e *event.GangStarted) error {
	app, a, _, err := s.waitingGang(e, e.App)
	if err != nil {
		return err
	}
	if s.gangReserves(app) {
		return broken(e, "it has reservations")
	}
	s.touchApp(app, a)
	g := s.Gangs.mut(app)
	g.State, g.Left, g.ExpectedMillis = GangStarting, g.Spec.Count, 0
	s.fold(uint64(app)<<32 | uint64(g.Left))
	return nil
}

func (s *State) gangEnded(e *event.GangEnded) error {
	slot, a, err := s.appOf(e, e.App)
	if err != nil {
		return err
	}
	if !s.Gangs.Has(slot) || !e.Cause.Known() || s.gangBusy(slot) {
		return broken(e, "it has no gang, or one that starts or holds nodes, or there is no such cause")
	}
	s.touchApp(slot, a)
	if e.Cause == yarn.GangWithdrawn {
		s.dropGang(slot)
	} else {
		g := s.Gangs.mut(slot)
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

func (r *Reservation) codeMembers(c *codec.Coder) { c.U32(&r.Members) }
