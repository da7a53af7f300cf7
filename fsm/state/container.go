package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

var _ = stored(1, part.Rows(12, "diagnostics",
	func(s *State) *table.Table[DiagnosticsSlot, Diagnostics] { return &s.Diagnostics },
	func(r *Diagnostics, c *codec.Coder) { c.String(&r.Text) }))

// Container returns the slot of a container, or 0 if it does not exist or was freed.
func (s *Demand) Container(r event.ContainerRef) ContainerSlot {
	app := s.Apps.Find(r.App)
	if app == 0 {
		return 0
	}
	return s.Containers.Find(app, r.Attempt, r.Number)
}

// ContainerByID returns the slot of a container, or 0 if it does not exist or was freed.
func (s *Demand) ContainerByID(id yarn.ContainerID) ContainerSlot {
	if s.Apps.ByID(id.App) == 0 {
		return 0
	}
	return s.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
}

var _ = applies((*State).containerAllocated)

func (s *Running) containerAllocated(e *event.ContainerAllocated) error {
	_, err := s.allocate(e, e, 0)
	return err
}

// allocate applies the allocation e and returns the slot of the new container. The allocation uses
// the room of the given reservation, or a node without a reservation if it is 0. Errors name the
// event of.
func (s *Running) allocate(of event.Event, e *event.ContainerAllocated,
	reservation ReservationSlot) (ContainerSlot, error) {
	app, a, err := s.Apps.Named(of, e.App)
	if err != nil {
		return 0, err
	}
	ask := s.Asks.Find(a, e.Key)
	switch {
	case !a.Activated() || ask == 0 || s.Asks.Get(ask).Count <= 0:
		return 0, broken(of, "attempt is in state %d, asked: %v", a.AttemptState, ask != 0)
	case e.Number != s.Meta.NextNumber(a):
		return 0, broken(of, "the next container number is %d", s.Meta.NextNumber(a))
	case !s.Nodes.Has(e.Node) || e.Locality < yarn.NodeLocal || e.Locality > yarn.OffSwitch:
		return 0, broken(of, "no such node or locality")
	}
	n, k := s.Nodes.Get(e.Node), s.Asks.Get(ask)
	switch {
	case !n.State.Usable():
		return 0, broken(of, "node %s is %s", n.ID, n.State)
	case n.Reservation != reservation:
		return 0, broken(of, "node %s is reserved", n.ID)
	case !s.Versions.Fits(k.Size, n.Unallocated()):
		return 0, broken(of, "%s does not fit the %s free on %s", k.Size, n.Unallocated(), n.ID)
	case s.Gangs.HoldsBack(k):
		return 0, broken(of, "its gang has not started")
	}
	a.NextNumber = e.Number
	size := k.Size
	slot := s.addContainer(app, a, Container{Attempt: a.Attempt, Number: e.Number, Node: e.Node, Key: e.Key, Size: size,
		Locality: e.Locality, AM: e.AM}, k.Label)
	c := s.changeContainer(change.ContainerStarted, slot, s.Containers.Get(slot))
	c.Ask, c.Lent = ask, reservation != 0
	s.consume(ask, a, n, e.Locality)
	s.dropAskIfIdle(ask, a)
	a.Used = a.Used.Add(size)
	a.Live++
	s.charge(a, n.Label, size, yarn.Resource{}, 1)
	if e.AM {
		s.setMaster(a, e.Number, e.Node)
	}
	s.occupy(e.Node, slot)
	s.recordLarge(n.Label, size)
	s.Queues.TallyAllocated(&s.Meta, a, e.Locality)
	return slot, nil
}

// addContainer adds a container to the tables and lists. The caller updates the sums.
func (s *Running) addContainer(app AppSlot, a *App, c Container, label LabelSlot) ContainerSlot {
	slot, r := table.Alloc(&s.Containers.Keyed.Table)
	if label != 0 {
		*table.Place(&s.AskedLabels.Table, slot) = label
	}
	*r = c
	r.App = app
	r.State, r.AllocatedMillis = yarn.ContainerAllocated, s.Meta.NowMillis
	table.InsertKeyed(&s.Containers.Keyed, slot)
	r.NextApp = a.Containers
	if a.Containers != 0 {
		s.Containers.Mut(a.Containers).PrevApp = slot
	}
	a.Containers = slot
	if !c.AM && c.GrantedIn == 0 {
		s.Containers.AddUndelivered(slot, a)
	}
	s.fold(uint64(slot)<<32 | uint64(c.Node))
	s.fold(uint64(app)<<32 ^ c.Number)
	return slot
}

// occupy adds a container to its node's list and sums.
func (s *Cluster) occupy(node NodeSlot, slot ContainerSlot) {
	n, c := s.Nodes.Mut(node), s.Containers.Mut(slot)
	n.Allocated = n.Allocated.Add(c.Size)
	n.Count++
	c.OnNode = true
	c.NextNode = n.Containers
	if n.Containers != 0 {
		s.Containers.Mut(n.Containers).PrevNode = slot
	}
	n.Containers = slot
	if c.HasPendingCommand() {
		n.PendingCommands++
	}
	if n.NodeManager {
		s.NodeApplications.Track(&s.Meta, c.App, s.Apps.Mut(c.App), node, n)
	}
	s.ReservationBans.FreeRoomChanged(&s.Meta, n)
}

// vacate removes a container from its node's list and sums.
func (s *Cluster) vacate(slot ContainerSlot) {
	c := s.Containers.Mut(slot)
	if !c.OnNode {
		return
	}
	n := s.Nodes.Mut(c.Node)
	n.Allocated = n.Allocated.Sub(c.Size)
	n.Count--
	c.OnNode = false
	if c.PrevNode != 0 {
		s.Containers.Mut(c.PrevNode).NextNode = c.NextNode
	} else {
		n.Containers = c.NextNode
	}
	if c.NextNode != 0 {
		s.Containers.Mut(c.NextNode).PrevNode = c.PrevNode
	}
	c.PrevNode, c.NextNode, c.Signal = 0, 0, 0
	s.ReservationBans.FreeRoomChanged(&s.Meta, n)
}

func (s *Demand) containerOf(e event.Event, r event.ContainerRef) (ContainerSlot, *Container, error) {
	slot := s.Container(r)
	if slot == 0 {
		return 0, nil, broken(e, "no such container")
	}
	return slot, s.Containers.Mut(slot), nil
}

var _ = applies((*State).containerLaunched)

func (s *Cluster) containerLaunched(e *event.ContainerLaunched) error {
	slot, c, err := s.containerOf(e, e.Container)
	if err != nil {
		return err
	}
	if !c.State.Live() || c.Launched {
		return broken(e, "it is %s", c.State)
	}
	s.Nodes.ChangeCommand(c, func() {
		c.Launched = true
		if c.AM || c.State == yarn.ContainerAcquired {
			c.State = yarn.ContainerRunning
		}
	})
	if c.AM {
		s.changeContainer(change.MasterLaunched, slot, c)
	}
	if a := s.Apps.Get(c.App); c.AM && a.LaunchedMillis == 0 && a.MasterNumber == c.Number && a.Attempt == c.Attempt {
		s.Apps.Mut(c.App).LaunchedMillis = s.Meta.NowMillis
	}
	s.fold(uint64(slot)<<8 | uint64(c.State))
	return nil
}

var _ = applies((*State).containerReleased)

func (s *Running) containerReleased(e *event.ContainerReleased) error {
	slot, c, err := s.containerOf(e, e.Container)
	if err != nil {
		return err
	}
	if !c.State.Live() || s.Resizes.Reserved(c) {
		return broken(e, "it is %s", c.State)
	}
	s.changeContainer(change.ContainerEnded, slot, c).Exit = e.ExitStatus
	s.uncharge(c)
	s.Nodes.ChangeCommand(c, func() {
		s.endResize(c)
		c.State, c.Signal = yarn.ContainerReleasing, 0
	})
	s.endContainer(slot, c, e.ExitStatus, e.Diagnostics)
	return nil
}

// uncharge subtracts a live container from the sums of its application, user and queues.
func (s *Cluster) uncharge(c *Container) {
	a := s.Apps.Mut(c.App)
	a.Used = a.Used.Sub(c.Size)
	a.Live--
	s.charge(a, s.Nodes.Get(c.Node).Label, yarn.Resource{}.Sub(c.Size), yarn.Resource{}, -1)
}

// endContainer records how a container ended, adds it to the undelivered list, and adds what it
// used to its application's resource-seconds.
func (s *Running) endContainer(slot ContainerSlot, c *Container, exit int32, text string) {
	c.ExitStatus = exit
	if text != "" {
		id, n := table.Alloc(&s.Diagnostics)
		n.Text, c.Diagnostics = text, id
	}
	a := s.Apps.Mut(c.App)
	s.endPreemption(slot, c, exit)
	s.noteEnd(c, exit)
	s.Leases.End(slot)
	switch {
	case c.AM:
		s.Containers.RemoveUndelivered(slot, a) // the AM that would receive it was this container
	case a.Open():
		s.Containers.AddUndelivered(slot, a)
	}
	a.ResourceSeconds = a.ResourceSeconds.Add(s.Resizes.ResourceSeconds(c, s.Meta.NowMillis))
	s.recordLength(a, c)
	s.Meta.Completed++
	for t := range s.Queues.Totals(a.Queue) {
		t.Released++
	}
	s.fold(uint64(slot)<<32 | uint64(uint32(exit)))
	s.foldResource(a.ResourceSeconds)
}

var _ = applies((*State).containerCompleted)

func (s *Running) containerCompleted(e *event.ContainerCompleted) error {
	slot, c, err := s.containerOf(e, e.Container)
	if err != nil {
		return err
	}
	if c.State == yarn.ContainerCompleted || s.Resizes.Reserved(c) {
		return broken(e, "it is %s", c.State)
	}
	a := s.Apps.Mut(c.App)
	live := c.State.Live()
	if e.Restore && (!live || c.GrantedIn != 0 || !a.Open() || c.Attempt != a.Attempt) {
		return broken(e, "it is %s; its ask cannot be put back", c.State)
	}
	kind := change.ContainerLeft
	if live {
		kind = change.ContainerEnded
		s.uncharge(c)
	}
	d := s.changeContainer(kind, slot, c)
	d.Left, d.Exit, d.Restored = true, e.ExitStatus, e.Restore
	s.Nodes.ChangeCommand(c, func() {
		s.endResize(c)
		s.vacate(slot)
		c.State = yarn.ContainerCompleted
	})
	if live {
		s.endContainer(slot, c, e.ExitStatus, e.Diagnostics)
	}
	s.fold(uint64(slot))
	switch {
	case e.Restore:
		s.restoreAsk(c.App, a, c, s.AskedLabels.Of(slot))
		s.Containers.RemoveUndelivered(slot, a)
		s.freeContainer(slot, a)
	case !c.Undelivered:
		s.freeContainer(slot, a)
	}
	return nil
}

// linkUndelivered sets PrevUndelivered, which follows from NextUndelivered, in a state from a
// snapshot. It stops in a damaged list; Check reports it.
func (s *Demand) linkUndelivered() {
	left := s.Containers.Len()
	s.Apps.Each(func(_ AppSlot, a *App) bool {
		prev := ContainerSlot(0)
		for slot := a.Undelivered; left > 0 && s.Containers.Has(slot); left-- {
			c := s.Containers.Mut(slot)
			c.PrevUndelivered, prev = prev, slot
			slot = c.NextUndelivered
		}
		return true
	})
}

// freeContainer removes a completed container from the state.
func (s *Running) freeContainer(slot ContainerSlot, a *App) {
	s.listRemoval(s.Containers.Get(slot), a)
	c := s.Containers.Mut(slot)
	if c.PrevApp != 0 {
		s.Containers.Mut(c.PrevApp).NextApp = c.NextApp
	} else {
		a.Containers = c.NextApp
	}
	if c.NextApp != 0 {
		s.Containers.Mut(c.NextApp).PrevApp = c.PrevApp
	}
	if c.Diagnostics != 0 {
		table.Release(&s.Diagnostics, c.Diagnostics)
	}
	if c.Resize != 0 {
		table.Release(&s.Resizes.Table, c.Resize)
	}
	if s.AskedLabels.Has(slot) {
		table.Release(&s.AskedLabels.Table, slot)
	}
	table.ReleaseKeyed(&s.Containers.Keyed, slot)
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(11, "containers",
	func(s *State) *table.Keyed[ContainerSlot, Container, *Container] { return &s.Containers.Keyed }, (*Container).Code),
	Links: (*State).linkUndelivered})
