package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// AskFor returns the slot of the ask under a key or, if increaseOf is not 0, of the hidden ask for
// the increase of that container. It returns 0 if there is none.
func (s *Demand) AskFor(a *App, key yarn.SchedulerKey, increaseOf ContainerSlot) AskSlot {
	return s.Asks.For(a, key, increaseOf, &s.Containers, &s.Resizes)
}

// resizable returns the container of an event and its application. It fails if the container is not
// live on its node.
func (s *Demand) resizable(e event.Event, ref event.ContainerRef) (ContainerSlot, *Container, *App, error) {
	slot, c, err := s.containerOf(e, ref)
	if err != nil {
		return 0, nil, nil, err
	}
	a := s.Apps.Mut(c.App)
	if !c.State.Live() || !c.OnNode {
		return 0, nil, nil, broken(e, "it is %s", c.State)
	}
	return slot, c, a, nil
}

var _ = applies((*State).containerResizeAsked)

func (s *Running) containerResizeAsked(e *event.ContainerResizeAsked) error {
	slot, c, a, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	more, ask := e.Size.Sub(c.Size), s.AskFor(a, c.Key, slot)
	switch {
	case !a.Activated() || more.Negative():
		return broken(e, "attempt is in state %d, the container has %s", a.AttemptState, c.Size)
	case more.IsZero() && ask == 0:
		return broken(e, "nothing is asked for it")
	case !more.IsZero() && ask != 0 && s.Asks.Get(ask).Reservations > 0 && s.Asks.Get(ask).Size != more:
		return broken(e, "%s is reserved for it", s.Asks.Get(ask).Size)
	}
	if ask == 0 {
		ask = s.addResizeAsk(slot, c, a, more)
	}
	if more.IsZero() {
		s.setAsk(ask, a, 0, s.Asks.Get(ask).Size)
		s.dropAskIfIdle(ask, a)
	} else {
		s.setAsk(ask, a, 1, more)
	}
	d := s.changeContainer(change.AskChanged, slot, c)
	d.Ask, d.Increase, d.Count = ask, true, int64(count(!more.IsZero()))
	s.fold(uint64(slot)<<32 | uint64(ask))
	s.foldResource(more)
	s.foldResource(a.Pending)
	return nil
}

// addResizeAsk adds a hidden ask for the increase of a container, in the order of AskBefore.
func (s *Running) addResizeAsk(container ContainerSlot, c *Container, a *App, size yarn.Resource) AskSlot {
	slot, k := table.Alloc(&s.Asks.Table)
	*k = Ask{App: c.App, Key: c.Key, Size: size, Entries: 1, IncreaseOf: container,
		Label: s.growthLabel(container, s.Nodes.Get(c.Node).Label)}
	s.Resizes.Ensure(container, c).Ask = slot
	s.enterAsk(slot, k, a)
	return slot
}

// leaveResize unlinks a hidden ask that is about to be removed from its Resize, and removes the
// Resize if nothing is left in it.
func (s *Demand) leaveResize(k *Ask) {
	if k.IncreaseOf == 0 {
		return
	}
	c := s.Containers.Mut(k.IncreaseOf)
	r := s.Resizes.Mut(c.Resize)
	r.Ask = 0
	if r.Version == 0 && r.Reservation == 0 {
		table.Release(&s.Resizes.Table, c.Resize)
		c.Resize = 0
	}
}

var _ = applies((*State).containerIncreased)

func (s *Cluster) containerIncreased(e *event.ContainerIncreased) error {
	slot, c, a, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	ask, n := s.AskFor(a, c.Key, slot), s.Nodes.Get(c.Node)
	switch {
	case ask == 0 || s.Asks.Get(ask).Count != 1 || !a.Activated():
		return broken(e, "nothing is asked for it, or its attempt is in state %d", a.AttemptState)
	case n.Reservation != 0 || !n.State.Usable():
		return broken(e, "node %s is %s or reserved", n.ID, n.State)
	case !s.Versions.Fits(s.Asks.Get(ask).Size, n.Unallocated()):
		return broken(e, "%s does not fit the %s free on %s", s.Asks.Get(ask).Size, n.Unallocated(), n.ID)
	}
	more := s.Asks.Get(ask).Size
	s.charge(a, n.Label, more, yarn.Resource{}, 0)
	s.increase(slot, a, ask, more)
	return nil
}

// increase makes a container larger by more, for which its hidden ask asked. The caller charges
// queue and user.
func (s *Cluster) increase(slot ContainerSlot, a *App, ask AskSlot, more yarn.Resource) {
	s.changeSize(slot, a, s.Containers.Get(slot).Size.Add(more), yarn.SizeIncreased)
	s.setAsk(ask, a, 0, more)
	s.dropAskIfIdle(ask, a)
}

var _ = applies((*State).containerDecreased)

func (s *Cluster) containerDecreased(e *event.ContainerDecreased) error {
	slot, c, a, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	if e.Size.Negative() || !e.Size.Within(c.Size) {
		return broken(e, "it has %s", c.Size)
	}
	if ask := s.AskFor(a, c.Key, slot); ask != 0 {
		s.setAsk(ask, a, 0, s.Asks.Get(ask).Size)
		s.dropAskIfIdle(ask, a)
	}
	s.charge(a, s.Nodes.Get(c.Node).Label, e.Size.Sub(c.Size), yarn.Resource{}, 0)
	s.changeSize(slot, a, e.Size, yarn.SizeDecreased)
	return nil
}

// changeSize changes the size of a container in its application and on its node, and adds the
// change to the undelivered list. It adds what the container used until now, at the old size, to
// the application's resource-seconds.
func (s *Cluster) changeSize(slot ContainerSlot, a *App, size yarn.Resource, how yarn.SizeChange) {
	c := s.Containers.Mut(slot)
	a.ResourceSeconds = a.ResourceSeconds.Add(s.Resizes.ResourceSeconds(c, s.Meta.NowMillis))
	r, by := s.Resizes.Ensure(slot, c), size.Sub(c.Size)
	if how == yarn.SizeDecreased {
		s.Nodes.SetResizeMarks(c, r, true, false)
		r.Confirmed = size
	} else {
		if !r.Unconfirmed {
			r.Confirmed = c.Size
		}
		s.Nodes.SetResizeMarks(c, r, r.Unacked, true)
	}
	s.changeContainer(change.ContainerResized, slot, c)
	c.Size = size
	r.Version++
	r.SinceMillis, r.Change, r.DeliveredIn = s.Meta.NowMillis, 0, 0
	a.Used = a.Used.Add(by)
	n := s.Nodes.Mut(c.Node)
	n.Allocated = n.Allocated.Add(by)
	s.ReservationBans.FreeRoomChanged(&s.Meta, n)
	if a.Open() { // otherwise no AM can receive the change
		r.Change = how
		s.Containers.AddUndelivered(slot, a)
	}
	s.fold(uint64(slot)<<32 | uint64(uint32(r.Version)))
	s.foldResource(size)
	s.foldResource(a.ResourceSeconds)
}

var _ = applies((*State).containerSizeReported)

// containerSizeReported records the size that a node reports for a container. If any resource kind
// is larger than it should be, the node gets the command to change the size again.
func (s *Cluster) containerSizeReported(e *event.ContainerSizeReported) error {
	slot, c, _, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	if c.Sizing&SizeUnconfirmed == 0 || e.Size.Negative() {
		return broken(e, "its node need not confirm a size")
	}
	r := s.Resizes.Mut(c.Resize)
	switch {
	case e.Size == c.Size:
		s.Nodes.SetResizeMarks(c, r, r.Unacked, false)
		r.Confirmed = c.Size
	case e.Size.Within(c.Size):
		r.Confirmed = yarn.ComponentMax(r.Confirmed, e.Size)
	default:
		s.Nodes.SetResizeMarks(c, r, true, false)
		r.Confirmed = c.Size
	}
	s.fold(uint64(slot)<<8 | uint64(c.Sizing))
	s.foldResource(r.Confirmed)
	return nil
}

var _ = applies((*State).resizeAcked)

func (s *Cluster) resizeAcked(e *event.ResizeAcked) error {
	slot, c, _, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	if c.Sizing&SizeUnacked == 0 || s.Resizes.Get(c.Resize).Version != e.Version {
		return broken(e, "its node has no command for version %d", e.Version)
	}
	r := s.Resizes.Mut(c.Resize)
	s.Nodes.SetResizeMarks(c, r, false, r.Unconfirmed)
	s.fold(uint64(slot)<<32 | uint64(uint32(e.Version)))
	return nil
}

var _ = applies((*State).resizeReserved)

// resizeReserved reserves a container's node for the increase of the container.
func (s *Running) resizeReserved(e *event.ResizeReserved) error {
	container, c, a, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	ask := s.AskFor(a, c.Key, container)
	if !a.Activated() || ask == 0 || s.Asks.Get(ask).Count != 1 || s.Asks.Get(ask).Reservations != 0 {
		return broken(e, "attempt is in state %d, asked: %v", a.AttemptState, ask != 0)
	}
	n, size := s.Nodes.Mut(c.Node), s.Asks.Get(ask).Size
	if e.Reservation != s.Meta.NextReservation+1 {
		return broken(e, "the next reservation is %d", s.Meta.NextReservation+1)
	}
	if why := s.unreservable(n, size); why != nil {
		return broken(e, "%v", why)
	}
	s.Meta.NextReservation = e.Reservation
	slot, r := table.Alloc(&s.Reservations.Keyed.Table)
	*r = Reservation{Number: e.Reservation, App: c.App, Key: c.Key, Node: c.Node, Attempt: c.Attempt,
		Container: c.Number, Size: size, AM: c.AM, MadeMillis: s.Meta.NowMillis, IncreaseOf: container}
	s.Resizes.Mut(c.Resize).Reservation = slot
	s.changeReservation(change.ReservationOpened, slot, r).Ask = ask
	s.enterReservation(slot, r, a, n, ask)
	return nil
}

// endResize removes the hidden ask of a container that ends, and the size change that its AM and
// its node have not received.
func (s *Demand) endResize(c *Container) {
	if c.Resize == 0 {
		return
	}
	if ask := s.Resizes.Get(c.Resize).Ask; ask != 0 {
		a := s.Apps.Mut(c.App)
		s.setAsk(ask, a, 0, s.Asks.Get(ask).Size)
		s.dropAskIfIdle(ask, a)
	}
	if c.Resize == 0 {
		return
	}
	r := s.Resizes.Mut(c.Resize)
	r.Unacked, r.Unconfirmed, c.Sizing = false, false, 0
	r.Change, r.DeliveredIn = yarn.SizeKept, 0
}

// linkResizes sets the fields of containers, asks and reservations that follow from Resizes, in a
// state from a snapshot. It skips references that lead nowhere; Check reports them.
func (s *Running) linkResizes() {
	s.Resizes.Each(func(slot ResizeSlot, r *Resize) bool {
		if s.Containers.Has(r.Container) {
			c := s.Containers.Mut(r.Container)
			c.Resize, c.Sizing = slot, r.Marks()
		}
		if s.Asks.Has(r.Ask) {
			s.Asks.Mut(r.Ask).IncreaseOf = r.Container
		}
		if s.Reservations.Has(r.Reservation) {
			s.Reservations.Mut(r.Reservation).IncreaseOf = r.Container
		}
		return true
	})
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(22, "resizes",
	func(s *State) *table.Table[ResizeSlot, Resize] { return &s.Resizes.Table }, (*Resize).Code),
	Links: (*State).linkResizes, Agrees: agrees((*check.Tables).CheckResizes)})
