package state

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

var _ = stored(1, part.Keyed(13, "reservations",
	func(s *State) *table.Keyed[ReservationSlot, Reservation, *Reservation] {
		return &s.Reservations.Keyed
	}, (*Reservation).Code))
var _ = stored(1, part.Rows(14, "reservation-bans",
	func(s *State) *table.Table[ReservationBanSlot, ReservationBan] {
		return &s.ReservationBans.Table
	}, (*ReservationBan).Code))

// dropReservationBans removes the bans of an application that is forgotten, because another
// application may get its slot. Only operators make bans, so there are few. The nodes are searched
// only if there is one.
func (s *Cluster) dropReservationBans(app AppSlot) {
	found := false
	s.ReservationBans.Each(func(_ ReservationBanSlot, b *ReservationBan) bool { found = b.App == app; return !found })
	if !found {
		return
	}
	s.Nodes.Each(func(node NodeSlot, n *Node) bool {
		prev := ReservationBanSlot(0)
		for slot := n.ReservationBans; slot != 0; {
			b := *s.ReservationBans.Get(slot)
			switch {
			case b.App != app:
				prev = slot
			case prev == 0:
				s.Nodes.Mut(node).ReservationBans = b.Next
				table.Release(&s.ReservationBans.Table, slot)
			default:
				s.ReservationBans.Mut(prev).Next = b.Next
				table.Release(&s.ReservationBans.Table, slot)
			}
			slot = b.Next
		}
		return true
	})
}

var _ = applies((*State).reservationMade)

func (s *Running) reservationMade(e *event.ReservationMade) error {
	app, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	ask := s.Asks.Find(a, e.Key)
	if !a.Activated() || ask == 0 || s.Asks.Get(ask).Count <= 0 || !s.Nodes.Has(e.Node) {
		return broken(e, "attempt is in state %d, asked: %v", a.AttemptState, ask != 0)
	}
	n, size := s.Nodes.Mut(e.Node), s.Asks.Get(ask).Size
	if e.Reservation != s.Meta.NextReservation+1 || e.Number != s.Meta.NextNumber(a) {
		return broken(e, "the next reservation is %d, the next container number %d", s.Meta.NextReservation+1,
			s.Meta.NextNumber(a))
	}
	if why := s.unreservable(n, size); why != nil {
		return broken(e, "%v", why)
	}
	if s.Gangs.HoldsBack(s.Asks.Get(ask)) {
		return broken(e, "its gang is served at once")
	}
	s.Meta.NextReservation = e.Reservation
	a.NextNumber = e.Number
	slot, r := table.Alloc(&s.Reservations.Keyed.Table)
	*r = Reservation{Number: e.Reservation, App: app, Key: e.Key, Node: e.Node, Attempt: a.Attempt,
		Container: e.Number, Size: size, AM: e.AM, MadeMillis: s.Meta.NowMillis}
	s.changeReservation(change.ReservationOpened, slot, r).Ask = ask
	s.enterReservation(slot, r, a, n, ask)
	s.recordLarge(n.Label, size)
	return nil
}

// unreservable returns why a node cannot be reserved for a size, or nil if it can.
func (s *Accounts) unreservable(n *Node, size yarn.Resource) error {
	switch {
	case !n.State.Usable():
		return fmt.Errorf("node %s is %s", n.ID, n.State)
	case n.Reservation != 0:
		return fmt.Errorf("node %s is reserved", n.ID)
	case !s.Versions.Fits(size, n.Total) || s.Versions.Fits(size, n.Unallocated()):
		return fmt.Errorf("%s, of %s in all %s is free", size, n.Total, n.Unallocated())
	}
	return nil
}

// renumberReservations gives each reservation a container number of the current epoch, in the order
// in which the reservations were made. Before a restore from backup, a container with the old
// number may have run, so that id must not be used again.
func (s *Running) renumberReservations() {
	held := make([]ReservationSlot, 0, s.Reservations.Len())
	s.Reservations.Each(func(slot ReservationSlot, r *Reservation) bool {
		if r.IncreaseOf == 0 { // an increase reservation is for a container that runs
			held = append(held, slot)
		}
		return true
	})
	slices.SortFunc(held, func(a, b ReservationSlot) int {
		return cmp.Compare(s.Reservations.Get(a).Number, s.Reservations.Get(b).Number)
	})
	for _, slot := range held {
		r := s.Reservations.Mut(slot)
		a := s.Apps.Mut(r.App)
		r.Container = s.Meta.NextNumber(a)
		a.NextNumber = r.Container
		s.fold(r.Container)
	}
}

func (s *Running) enterReservation(slot ReservationSlot, r *Reservation, a *App, n *Node, ask AskSlot) {
	table.InsertKeyed(&s.Reservations.Keyed, slot)
	r.NextApp = a.Reservations
	if a.Reservations != 0 {
		s.Reservations.Mut(a.Reservations).PrevApp = slot
	}
	a.Reservations = slot
	a.Reserving++
	a.Reserved = a.Reserved.Add(r.Size)
	n.Reservation = slot
	k := s.Asks.Mut(ask)
	k.Reservations++
	k.ReReservations = 0
	s.charge(a, n.Label, r.Size, r.Size, 1)
	s.Meta.Made++
	s.fold(uint64(slot)<<32 | uint64(r.Node))
	s.fold(uint64(r.App)<<32 | uint64(ask))
}

var _ = applies((*State).reservationFulfilled)

func (s *Running) reservationFulfilled(e *event.ReservationFulfilled) error {
	slot, r, err := s.Reservations.Named(e, e.Reservation)
	if err != nil {
		return err
	}
	n, a, res := s.Nodes.Get(r.Node), s.Apps.Mut(r.App), *r
	ask := s.AskFor(a, r.Key, r.IncreaseOf)
	if ask == 0 || s.Asks.Get(ask).Count <= 0 || s.Asks.Get(ask).Size != r.Size {
		return broken(e, "its ask is gone or of another size")
	}
	if e.Locality < yarn.NodeLocal || e.Locality > yarn.OffSwitch || !n.State.Usable() ||
		!s.Versions.Fits(r.Size, n.Unallocated()) {
		return broken(e, "%s does not fit the %s free on %s, which is %s", r.Size, n.Unallocated(), n.ID, n.State)
	}
	if s.awaitsPreemption(r) {
		return broken(e, "containers are still to end for it")
	}
	if s.Gangs.HoldsBack(s.Asks.Get(ask)) {
		return broken(e, "its gang is served at once")
	}
	s.changeReservation(change.ReservationClosed, slot, r).Ask = ask
	s.leaveReservation(slot, a)
	if res.IncreaseOf != 0 {
		s.charge(a, n.Label, yarn.Resource{}, yarn.Resource{}.Sub(res.Size), -1)
		s.increase(res.IncreaseOf, a, ask, res.Size)
		s.Meta.Fulfilled++
		return nil
	}
	c := s.addContainer(res.App, a, Container{Attempt: a.Attempt, Number: res.Container, Node: res.Node, Key: res.Key,
		Size: res.Size, Locality: e.Locality, AM: res.AM}, s.Asks.Get(ask).Label)
	s.changeContainer(change.ContainerStarted, c, s.Containers.Get(c)).Ask = ask
	s.consume(ask, a, n, e.Locality)
	s.dropAskIfIdle(ask, a)
	a.Used = a.Used.Add(res.Size)
	a.Live++
	s.unreserve(a, n.Label, res.Size)
	if res.AM {
		s.setMaster(a, res.Container, res.Node)
	}
	s.occupy(res.Node, c)
	s.Meta.Fulfilled++
	s.Queues.TallyAllocated(&s.Meta, a, e.Locality)
	return nil
}

// unreserve subtracts a fulfilled reservation from Reserved of the queues. Its size stays in Used.
func (s *Accounts) unreserve(a *App, label LabelSlot, size yarn.Resource) {
	if label != 0 {
		s.chainUse(label, a.Queue, func(u *Use) { u.Reserved = u.Reserved.Sub(size) })
		return
	}
	s.chain(a.Queue, func(q *Queue) { q.Reserved = q.Reserved.Sub(size) })
}

var _ = applies((*State).reservationCancelled)

func (s *Running) reservationCancelled(e *event.ReservationCancelled) error {
	slot, r, err := s.Reservations.Named(e, e.Reservation)
	if err != nil {
		return err
	}
	if !e.Cause.Known() {
		return broken(e, "no such cause")
	}
	if s.awaitsPreemption(r) {
		return broken(e, "containers are still to end for it")
	}
	a, res := s.Apps.Mut(r.App), *r
	s.changeReservation(change.ReservationClosed, slot, r).Cancelled = e.Cause
	s.leaveReservation(slot, a)
	none := yarn.Resource{}
	s.charge(a, s.Nodes.Get(res.Node).Label, none.Sub(res.Size), none.Sub(res.Size), -1)
	if ask := s.AskFor(a, res.Key, res.IncreaseOf); ask != 0 {
		s.Asks.Mut(ask).ReReservations = 0
		s.dropAskIfIdle(ask, a)
	}
	if e.Cause == yarn.CancelOperator {
		n := s.Nodes.Mut(res.Node)
		ban, b := table.Alloc(&s.ReservationBans.Table)
		*b = ReservationBan{App: res.App, Key: res.Key, Next: n.ReservationBans}
		n.ReservationBans = ban
	}
	s.Meta.Cancelled[e.Cause]++
	s.PreemptionTotals.Unused[e.Cause] += uint64(res.Preempted)
	s.fold(uint64(e.Cause))
	return nil
}

// leaveReservation removes a reservation from all lists and sums but those of user and queues,
// which differ between fulfilment and cancellation.
func (s *Running) leaveReservation(slot ReservationSlot, a *App) {
	r := s.Reservations.Mut(slot)
	if r.PrevApp != 0 {
		s.Reservations.Mut(r.PrevApp).NextApp = r.NextApp
	} else {
		a.Reservations = r.NextApp
	}
	if r.NextApp != 0 {
		s.Reservations.Mut(r.NextApp).PrevApp = r.PrevApp
	}
	a.Reserving--
	a.Reserved = a.Reserved.Sub(r.Size)
	s.Nodes.Mut(r.Node).Reservation = 0
	if ask := s.AskFor(a, r.Key, r.IncreaseOf); ask != 0 {
		k := s.Asks.Mut(ask)
		k.Reservations--
		if k.Reservations == 0 {
			k.ReReservations = 0
		}
	}
	if r.IncreaseOf != 0 {
		s.Resizes.Mut(s.Containers.Get(r.IncreaseOf).Resize).Reservation = 0
	}
	s.endLeases(r)
	s.fold(r.Number)
	table.ReleaseKeyed(&s.Reservations.Keyed, slot)
}
