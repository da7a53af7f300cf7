package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Container is an allocated container. It is kept until its AM has acknowledged the completion and
// its node has confirmed it, whichever is later. The fields needed to find, deliver and free a
// container come first, so that they share a cache line.
type Container struct {
	App     AppSlot
	Attempt uint32
	Number  uint64 // within the application, as in YARN's container id
	Node    NodeSlot

	prevUndelivered ContainerSlot // not in snapshots: follows from nextUndelivered
	nextUndelivered ContainerSlot
	undelivered     bool // in the application's Undelivered list

	State       yarn.ContainerState
	Locality    yarn.Locality
	AM          bool
	OnNode      bool  // in the sums and the list of the node: the node has not reported the end
	Launched    bool  // its node has reported it
	Signal      uint8 // signal that the node must still send, as YARN's number; 0: none
	sizing      uint8 // marks of its Resize; not in snapshots
	ExitStatus  int32
	GrantedIn   int32           // response that delivered the allocation; 0: none yet; or deliveredEarlier
	CompletedIn int32           // response that delivered the completion; 0: none yet
	Diagnostics DiagnosticsSlot // slot of its Diagnostics

	prevApp, nextApp   ContainerSlot
	prevNode, nextNode ContainerSlot
	resize             ResizeSlot // slot of its Resize; not in snapshots: follows from Resizes

	Key             yarn.SchedulerKey
	Size            yarn.Resource
	AllocatedMillis int64
}

func (k *Container) code(c *codec.Coder) {
	codec.Slot(c, &k.App)
	c.U32(&k.Attempt)
	c.U64(&k.Number)
	codec.Slot(c, &k.Node)
	c.Key(&k.Key)
	c.Resource(&k.Size)
	codec.Enum(c, &k.State)
	codec.Enum(c, &k.Locality)
	c.Bool(&k.AM)
	c.Bool(&k.OnNode)
	c.Bool(&k.Launched)
	c.I32(&k.ExitStatus)
	c.I32(&k.GrantedIn)
	c.I32(&k.CompletedIn)
	codec.Slot(c, &k.Diagnostics)
	c.I64(&k.AllocatedMillis)
	c.U8(&k.Signal)
	codec.Slot(c, &k.prevApp)
	codec.Slot(c, &k.nextApp)
	codec.Slot(c, &k.prevNode)
	codec.Slot(c, &k.nextNode)
	codec.Slot(c, &k.nextUndelivered)
	c.Bool(&k.undelivered)
}

// Containers is the table of containers.
type Containers struct {
	table.Keyed[ContainerSlot, Container, *Container]
}

// Container returns the slot of a container, or 0 if it does not exist or was freed.
func (s *Demand) Container(r event.ContainerRef) ContainerSlot {
	app := s.Apps.Find(r.App)
	if app == 0 {
		return 0
	}
	return s.Containers.Lookup(hashContainer(app, r.Attempt, r.Number), func(c *Container) bool {
		return c.App == app && c.Attempt == r.Attempt && c.Number == r.Number
	})
}

// ContainerByID returns the slot of a container, or 0 if it does not exist or was freed.
func (s *Demand) ContainerByID(id yarn.ContainerID) ContainerSlot {
	if s.Apps.ByID(id.App) == 0 {
		return 0
	}
	return s.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
}

func hashContainer(app AppSlot, attempt uint32, number uint64) uint64 {
	return table.Mix(table.Mix(uint64(app)<<32|uint64(attempt)) ^ number)
}

func (c *Container) Hash() uint64 { return hashContainer(c.App, c.Attempt, c.Number) }

func (c *Container) Same(other *Container) bool {
	return c.App == other.App && c.Attempt == other.Attempt && c.Number == other.Number
}

// ContainerID returns the id of a container in YARN's protocols.
func (t *Apps) ContainerID(c *Container) yarn.ContainerID {
	return yarn.ContainerID{App: t.Get(c.App).ID, Attempt: c.Attempt, Number: c.Number}
}

// Ref returns the reference to a container in events.
func (t *Apps) Ref(c *Container) event.ContainerRef {
	return event.ContainerRef{App: t.Get(c.App).ID.Seq, Attempt: c.Attempt, Number: c.Number}
}

// MayBeKept reports whether the container survives the end of its attempt if its application keeps
// containers across attempts.
func (c *Container) MayBeKept() bool { return !c.AM && c.Launched }

// NextNumber returns the number of the next container of an application.
func (m *Meta) NextNumber(a *App) uint64 {
	if first := yarn.ContainerNumber(m.Epoch, 0); a.NextNumber < first {
		return first + 1
	}
	return a.NextNumber + 1
}

// fits reports whether size fits in free, in the resource kinds that the resource calculator
// compares.
func (t *QueueVersions) fits(size, free yarn.Resource) bool {
	if v := t.Current(); v == nil || !v.Dominant {
		return size[yarn.Memory] <= free[yarn.Memory]
	}
	return size.Within(free)
}

var _ = applies((*State).containerAllocated)

func (s *Running) containerAllocated(e *event.ContainerAllocated) error {
	_, err := s.allocate(e, e, 0)
	return err
}

// allocate applies the allocation e and returns the slot of the new container. The allocation uses
// the room of the given reservation, or a node without a reservation if it is 0. Errors name the
// event of.
func (s *Running) allocate(of event.Event, e *event.ContainerAllocated, reservation ReservationSlot) (ContainerSlot, error) {
	app, a, err := s.Apps.of(of, e.App)
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
	case !s.Versions.fits(k.Size, n.Unallocated()):
		return 0, broken(of, "%s does not fit the %s free on %s", k.Size, n.Unallocated(), n.ID)
	case s.Gangs.HoldsBack(k):
		return 0, broken(of, "its gang has not started")
	}
	a.NextNumber = e.Number
	size := k.Size
	slot := s.addContainer(app, a, Container{Attempt: a.Attempt, Number: e.Number, Node: e.Node, Key: e.Key, Size: size, Locality: e.Locality, AM: e.AM}, k.Label)
	c := s.changeContainer(ContainerStarted, slot, s.Containers.Get(slot))
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
	s.Queues.tallyAllocated(&s.Meta, a, e.Locality)
	return slot, nil
}

// addContainer adds a container to the tables and lists. The caller updates the sums.
func (s *Running) addContainer(app AppSlot, a *App, c Container, label LabelSlot) ContainerSlot {
	slot, r := s.Containers.Alloc()
	if label != 0 {
		*s.AskedLabels.Place(slot) = label
	}
	*r = c
	r.App = app
	r.State, r.AllocatedMillis = yarn.ContainerAllocated, s.Meta.NowMillis
	s.Containers.Insert(slot)
	r.nextApp = a.Containers
	if a.Containers != 0 {
		s.Containers.Mut(a.Containers).prevApp = slot
	}
	a.Containers = slot
	if !c.AM && c.GrantedIn == 0 {
		s.Containers.addUndelivered(slot, a)
	}
	s.fold(uint64(slot)<<32 | uint64(c.Node))
	s.fold(uint64(app)<<32 ^ c.Number)
	return slot
}

// addUndelivered puts a container at the front of its application's undelivered list, unless the
// list has it.
func (t *Containers) addUndelivered(slot ContainerSlot, a *App) {
	c := t.Mut(slot)
	if c.undelivered {
		return
	}
	c.undelivered, c.nextUndelivered = true, a.Undelivered
	if c.nextUndelivered != 0 {
		t.Mut(c.nextUndelivered).prevUndelivered = slot
	}
	a.Undelivered = slot
}

// occupy adds a container to its node's list and sums.
func (s *Cluster) occupy(node NodeSlot, slot ContainerSlot) {
	n, c := s.Nodes.Mut(node), s.Containers.Mut(slot)
	n.Allocated = n.Allocated.Add(c.Size)
	n.Count++
	c.OnNode = true
	c.nextNode = n.Containers
	if n.Containers != 0 {
		s.Containers.Mut(n.Containers).prevNode = slot
	}
	n.Containers = slot
	if c.hasPendingCommand() {
		n.PendingCommands++
	}
	if n.NodeManager {
		s.NodeApplications.track(&s.Meta, c.App, s.Apps.Mut(c.App), node, n)
	}
	s.ReservationBans.freeRoomChanged(&s.Meta, n)
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
	if c.prevNode != 0 {
		s.Containers.Mut(c.prevNode).nextNode = c.nextNode
	} else {
		n.Containers = c.nextNode
	}
	if c.nextNode != 0 {
		s.Containers.Mut(c.nextNode).prevNode = c.prevNode
	}
	c.prevNode, c.nextNode, c.Signal = 0, 0, 0
	s.ReservationBans.freeRoomChanged(&s.Meta, n)
}

// hasPendingCommand reports whether the node must still launch, kill, signal or resize the
// container, or confirm its size. Node.PendingCommands counts such containers.
func (c *Container) hasPendingCommand() bool {
	return c.OnNode && (c.State == yarn.ContainerReleasing || (c.AM && !c.Launched) || c.Signal != 0 || c.sizing != 0)
}

// Unstarted reports whether the AM has received the container and the node has not reported it.
func (c *Container) Unstarted() bool {
	return c.State == yarn.ContainerAcquired && !c.Launched && !c.AM
}

// Unused reports whether the container, or an increase of it, was granted but no node has reported
// its use.
func (c *Container) Unused() bool {
	return c.Unstarted() || c.sizing&sizeUnconfirmed != 0
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
	s.Nodes.changeCommand(c, func() {
		c.Launched = true
		if c.AM || c.State == yarn.ContainerAcquired {
			c.State = yarn.ContainerRunning
		}
	})
	if c.AM {
		s.changeContainer(MasterLaunched, slot, c)
	}
	if a := s.Apps.Get(c.App); c.AM && a.LaunchedMillis == 0 && a.MasterNumber == c.Number && a.Attempt == c.Attempt {
		s.Apps.Mut(c.App).LaunchedMillis = s.Meta.NowMillis
	}
	s.fold(uint64(slot)<<8 | uint64(c.State))
	return nil
}

// changeCommand calls f, which changes the container, and updates PendingCommands of its node.
func (t *Nodes) changeCommand(c *Container, f func()) {
	before := c.hasPendingCommand()
	f()
	if after := c.hasPendingCommand(); before != after {
		t.Mut(c.Node).PendingCommands += count(after) - count(before)
	}
}

var _ = applies((*State).containerReleased)

func (s *Running) containerReleased(e *event.ContainerReleased) error {
	slot, c, err := s.containerOf(e, e.Container)
	if err != nil {
		return err
	}
	if !c.State.Live() || s.Resizes.reserved(c) {
		return broken(e, "it is %s", c.State)
	}
	s.changeContainer(ContainerEnded, slot, c).Exit = e.ExitStatus
	s.uncharge(c)
	s.Nodes.changeCommand(c, func() {
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
		id, n := s.Diagnostics.Alloc()
		n.Text, c.Diagnostics = text, id
	}
	a := s.Apps.Mut(c.App)
	s.endPreemption(slot, c, exit)
	s.noteEnd(c, exit)
	s.Leases.end(slot)
	switch {
	case c.AM:
		s.Containers.removeUndelivered(slot, a) // the AM that would receive it was this container
	case a.Open():
		s.Containers.addUndelivered(slot, a)
	}
	a.ResourceSeconds = a.ResourceSeconds.Add(s.Resizes.ResourceSeconds(c, s.Meta.NowMillis))
	s.recordLength(a, c)
	s.Meta.Completed++
	for t := range s.Queues.totals(a.Queue) {
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
	if c.State == yarn.ContainerCompleted || s.Resizes.reserved(c) {
		return broken(e, "it is %s", c.State)
	}
	a := s.Apps.Mut(c.App)
	live := c.State.Live()
	if e.Restore && (!live || c.GrantedIn != 0 || !a.Open() || c.Attempt != a.Attempt) {
		return broken(e, "it is %s; its ask cannot be put back", c.State)
	}
	kind := ContainerLeft
	if live {
		kind = ContainerEnded
		s.uncharge(c)
	}
	d := s.changeContainer(kind, slot, c)
	d.Left, d.Exit, d.Restored = true, e.ExitStatus, e.Restore
	s.Nodes.changeCommand(c, func() {
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
		s.Containers.removeUndelivered(slot, a)
		s.freeContainer(slot, a)
	case !c.undelivered:
		s.freeContainer(slot, a)
	}
	return nil
}

// removeUndelivered removes a container from its application's undelivered list.
func (t *Containers) removeUndelivered(slot ContainerSlot, a *App) {
	c := t.Mut(slot)
	if !c.undelivered {
		return
	}
	prev, next := c.prevUndelivered, c.nextUndelivered
	if prev != 0 {
		t.Mut(prev).nextUndelivered = next
	} else {
		a.Undelivered = next
	}
	if next != 0 {
		t.Mut(next).prevUndelivered = prev
	}
	c.undelivered, c.prevUndelivered, c.nextUndelivered = false, 0, 0
}

// linkUndelivered sets prevUndelivered, which follows from nextUndelivered, in a state from a
// snapshot. It stops in a damaged list; Check reports it.
func (s *Demand) linkUndelivered() {
	left := s.Containers.Len()
	s.Apps.Each(func(_ AppSlot, a *App) bool {
		prev := ContainerSlot(0)
		for slot := a.Undelivered; left > 0 && s.Containers.Has(slot); left-- {
			c := s.Containers.Mut(slot)
			c.prevUndelivered, prev = prev, slot
			slot = c.nextUndelivered
		}
		return true
	})
}

// freeContainer removes a completed container from the state.
func (s *Running) freeContainer(slot ContainerSlot, a *App) {
	s.listRemoval(s.Containers.Get(slot), a)
	c := s.Containers.Mut(slot)
	if c.prevApp != 0 {
		s.Containers.Mut(c.prevApp).nextApp = c.nextApp
	} else {
		a.Containers = c.nextApp
	}
	if c.nextApp != 0 {
		s.Containers.Mut(c.nextApp).prevApp = c.prevApp
	}
	if c.Diagnostics != 0 {
		s.Diagnostics.Release(c.Diagnostics)
	}
	if c.resize != 0 {
		s.Resizes.Release(c.resize)
	}
	if s.AskedLabels.Has(slot) {
		s.AskedLabels.Release(slot)
	}
	s.Containers.Release(slot)
}

var containerPart = derived{part: keyedRows(11, "containers", func(s *State) *table.Keyed[ContainerSlot, Container, *Container] { return &s.Containers.Keyed }, (*Container).code),
	links: (*State).linkUndelivered}
