package state

import (
	"rmd/fsm/event"
	"rmd/yarn"
)

// What a container's record says of its Resize in one byte, so that who looks at
// containers need not look there.
const (
	sizeOrdered     = 1 << iota // its node must be told of its size
	sizeUnconfirmed             // its node has not said that it has grown
)

func (r *Resize) marks() uint8 {
	return uint8(count(r.Ordered)*sizeOrdered | count(r.Unconfirmed)*sizeUnconfirmed)
}

// SizesChange says whether every replica knows the events of changes of size.
func (s *State) SizesChange() bool { return s.Meta.Level >= event.LevelResize }

// Resize returns what is known of the changes of a container's size; nil when
// there never was one and none is asked.
func (s *State) Resize(c *Container) *Resize {
	if c.resize == 0 {
		return nil
	}
	return s.Resizes.Get(c.resize)
}

// SizeVersion is how often a container's size was changed.
func (s *State) SizeVersion(c *Container) int32 {
	if r := s.Resize(c); r != nil {
		return r.Version
	}
	return 0
}

// AskFor returns the slot of the ask that a decision serves: the one under a key,
// or the hidden one for what a container is to grow by; 0 when there is none.
func (s *State) AskFor(a *App, key yarn.SchedulerKey, grows uint32) uint32 {
	if grows == 0 {
		return s.Ask(a, key)
	}
	if !s.Containers.Has(grows) {
		return 0
	}
	if r := s.Resize(s.Containers.Get(grows)); r != nil {
		return r.Ask
	}
	return 0
}

// resizable finds the container of an event, which its attempt may change.
func (s *State) resizable(e event.Event, ref event.ContainerRef) (uint32, *Container, *App, error) {
	slot, c, err := s.containerOf(e, ref)
	if err != nil {
		return 0, nil, nil, err
	}
	a := s.Apps.mut(c.App)
	if !c.State.Live() || !c.OnNode {
		return 0, nil, nil, broken(e, "it is %s", c.State)
	}
	return slot, c, a, nil
}

func (s *State) containerResizeAsked(e *event.ContainerResizeAsked) error {
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
	s.fold(uint64(slot)<<32 | uint64(ask))
	s.foldResource(more)
	s.foldResource(a.Pending)
	return nil
}

// addResizeAsk puts a hidden ask in its place: behind all others, by key, then by
// container.
func (s *State) addResizeAsk(container uint32, c *Container, a *App, size yarn.Resource) uint32 {
	slot, k := s.Asks.alloc()
	*k = Ask{App: c.App, Key: c.Key, Size: size, Entries: 1, IncreaseOf: container}
	s.ownResize(container, c).Ask = slot
	s.enterAsk(slot, k, a)
	return slot
}

// ownResize returns the record of a container's changes of size, to be changed; it
// is made when there is none.
func (s *State) ownResize(slot uint32, c *Container) *Resize {
	if c.resize == 0 {
		at, r := s.Resizes.alloc()
		*r = Resize{Container: slot, SinceMillis: c.AllocatedMillis, Confirmed: c.Size}
		c.resize = at
	}
	return s.Resizes.mut(c.resize)
}

// askBefore is the order of an application's asks: those for containers of their
// own first, then by key, then by the container that is to grow.
func (s *State) askBefore(a, b *Ask) bool {
	switch {
	case (a.IncreaseOf == 0) != (b.IncreaseOf == 0):
		return a.IncreaseOf == 0
	case a.Key != b.Key || a.IncreaseOf == 0:
		return a.Key.Less(b.Key)
	}
	x, y := s.Containers.Get(a.IncreaseOf), s.Containers.Get(b.IncreaseOf)
	if x.Attempt != y.Attempt {
		return x.Attempt < y.Attempt
	}
	return x.Number < y.Number
}

// leaveResize forgets the hidden ask of a container, which is about to go, and
// the whole record when it says nothing more.
func (s *State) leaveResize(k *Ask) {
	if k.IncreaseOf == 0 {
		return
	}
	c := s.Containers.mut(k.IncreaseOf)
	r := s.Resizes.mut(c.resize)
	r.Ask = 0
	if r.Version == 0 && r.Reservation == 0 {
		s.Resizes.release(c.resize)
		c.resize = 0
	}
}

func (s *State) containerIncreased(e *event.ContainerIncreased) error {
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
	case !s.fits(s.Asks.Get(ask).Size, n.Unallocated()):
		return broken(e, "%s does not fit the %s free on %s", s.Asks.Get(ask).Size, n.Unallocated(), n.ID)
	}
	more := s.Asks.Get(ask).Size
	s.charge(a, more, yarn.Resource{}, 0)
	s.grow(slot, a, ask, more)
	return nil
}

// grow gives a container what was asked for it; queue and user are the caller's.
func (s *State) grow(slot uint32, a *App, ask uint32, more yarn.Resource) {
	s.changeSize(slot, a, s.Containers.Get(slot).Size.Add(more), yarn.SizeIncreased)
	s.setAsk(ask, a, 0, more)
	s.dropAskIfIdle(ask, a)
}

func (s *State) containerDecreased(e *event.ContainerDecreased) error {
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
	s.charge(a, e.Size.Sub(c.Size), yarn.Resource{}, 0)
	s.changeSize(slot, a, e.Size, yarn.SizeDecreased)
	return nil
}

// changeSize gives a container another size: in its application, on its node and
// in what it is told of. What it has used until now is settled.
func (s *State) changeSize(slot uint32, a *App, size yarn.Resource, change yarn.SizeChange) {
	c := s.Containers.mut(slot)
	a.ResourceSeconds = a.ResourceSeconds.Add(s.spentOf(c, s.Meta.NowMillis))
	r, by := s.ownResize(slot, c), size.Sub(c.Size)
	if change == yarn.SizeDecreased {
		s.mark(c, r, true, false)
		r.Confirmed = size
	} else {
		if !r.Unconfirmed {
			r.Confirmed = c.Size
		}
		s.mark(c, r, r.Ordered, true)
	}
	c.Size = size
	r.Version++
	r.SinceMillis, r.Change, r.ToldIn = s.Meta.NowMillis, 0, 0
	a.Used = a.Used.Add(by)
	n := s.Nodes.mut(c.Node)
	n.Allocated = n.Allocated.Add(by)
	s.freeRoomChanged(n)
	if a.Open() { // else no AM is there to be told
		r.Change = change
		s.list(slot, a)
	}
	s.fold(uint64(slot)<<32 | uint64(uint32(r.Version)))
	s.foldResource(size)
	s.foldResource(a.ResourceSeconds)
}

// mark sets what a container's node must be told, or say, of its size.
func (s *State) mark(c *Container, r *Resize, ordered, unconfirmed bool) {
	s.changeOrder(c, func() {
		r.Ordered, r.Unconfirmed = ordered, unconfirmed
		c.sizing = r.marks()
	})
}

// containerSized takes a node's word of a container's size. One that is larger
// than it should be, or differs both ways, is told the size again.
func (s *State) containerSizeReported(e *event.ContainerSizeReported) error {
	slot, c, _, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	if c.sizing&sizeUnconfirmed == 0 || e.Size.Negative() {
		return broken(e, "its node need not confirm a size")
	}
	r := s.Resizes.mut(c.resize)
	switch {
	case e.Size == c.Size:
		s.mark(c, r, r.Ordered, false)
		r.Confirmed = c.Size
	case e.Size.Within(c.Size):
		r.Confirmed = yarn.ComponentMax(r.Confirmed, e.Size)
	default:
		s.mark(c, r, true, false)
		r.Confirmed = c.Size
	}
	s.fold(uint64(slot)<<8 | uint64(c.sizing))
	s.foldResource(r.Confirmed)
	return nil
}

func (s *State) resizeAcked(e *event.ResizeAcked) error {
	slot, c, _, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	if c.sizing&sizeOrdered == 0 || s.Resizes.Get(c.resize).Version != e.Version {
		return broken(e, "its node need not be told version %d", e.Version)
	}
	r := s.Resizes.mut(c.resize)
	s.mark(c, r, false, r.Unconfirmed)
	s.fold(uint64(slot)<<32 | uint64(uint32(e.Version)))
	return nil
}

// resizeReserved holds a node for what a container there is to grow by.
func (s *State) resizeReserved(e *event.ResizeReserved) error {
	container, c, a, err := s.resizable(e, e.Container)
	if err != nil {
		return err
	}
	ask := s.AskFor(a, c.Key, container)
	if !a.Activated() || ask == 0 || s.Asks.Get(ask).Count != 1 || s.Asks.Get(ask).Reservations != 0 {
		return broken(e, "attempt is in state %d, asked: %v", a.AttemptState, ask != 0)
	}
	n, size := s.Nodes.mut(c.Node), s.Asks.Get(ask).Size
	if e.Reservation != s.Meta.NextReservation+1 {
		return broken(e, "the next reservation is %d", s.Meta.NextReservation+1)
	}
	if why := s.unreservable(n, size); why != nil {
		return broken(e, "%v", why)
	}
	s.Meta.NextReservation = e.Reservation
	slot, r := s.Reservations.alloc()
	*r = Reservation{Number: e.Reservation, App: c.App, Key: c.Key, Node: c.Node, Attempt: c.Attempt,
		Container: c.Number, Size: size, AM: c.AM, MadeMillis: s.Meta.NowMillis, IncreaseOf: container}
	s.Resizes.mut(c.resize).Reservation = slot
	s.enterReservation(slot, r, a, n, ask)
	return nil
}

// heldToGrow says whether a container has a reservation to grow, which ends before it.
func (s *State) heldToGrow(c *Container) bool {
	r := s.Resize(c)
	return r != nil && r.Reservation != 0
}

// endResize drops what an ending container was to grow by, and what its AM and
// its node were to be told of its size.
func (s *State) endResize(c *Container) {
	if c.resize == 0 {
		return
	}
	if ask := s.Resizes.Get(c.resize).Ask; ask != 0 {
		a := s.Apps.mut(c.App)
		s.setAsk(ask, a, 0, s.Asks.Get(ask).Size)
		s.dropAskIfIdle(ask, a)
	}
	if c.resize == 0 {
		return
	}
	r := s.Resizes.mut(c.resize)
	r.Ordered, r.Unconfirmed, c.sizing = false, false, 0
	r.Change, r.ToldIn = yarn.SizeKept, 0
}

// tellResize stamps a change of size with the response that tells of it; false
// when there is none to be told, or the AM has had it.
func (s *State) tellResize(c *Container, response int32) bool {
	if c.resize == 0 || s.Resizes.Get(c.resize).Change == yarn.SizeKept {
		return false
	}
	r := s.Resizes.mut(c.resize)
	if r.ToldIn == 0 {
		r.ToldIn = response
		return true
	}
	r.Change, r.ToldIn = yarn.SizeKept, 0
	return false
}

// untoldResize has a change of size told again, under another count of responses;
// false when there is none.
func (s *State) untoldResize(c *Container) bool {
	if c.resize == 0 || s.Resizes.Get(c.resize).Change == yarn.SizeKept {
		return false
	}
	s.Resizes.mut(c.resize).ToldIn = 0
	return true
}

// forgetChange drops what an attempt that is over was to be told.
func (s *State) forgetChange(c *Container) {
	if c.resize != 0 && s.Resizes.Get(c.resize).Change != yarn.SizeKept {
		r := s.Resizes.mut(c.resize)
		r.Change, r.ToldIn = yarn.SizeKept, 0
	}
}

// linkResizes makes what containers, asks and reservations say of resizes, which
// follows from these, in a state from a snapshot. Links that lead nowhere are left
// to Check.
func (s *State) linkResizes() {
	s.Resizes.Each(func(slot uint32, r *Resize) bool {
		if s.Containers.Has(r.Container) {
			c := s.Containers.mut(r.Container)
			c.resize, c.sizing = slot, r.marks()
		}
		if s.Asks.Has(r.Ask) {
			s.Asks.mut(r.Ask).IncreaseOf = r.Container
		}
		if s.Reservations.Has(r.Reservation) {
			s.Reservations.mut(r.Reservation).IncreaseOf = r.Container
		}
		return true
	})
}
