package record

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

	PrevUndelivered ContainerSlot // not in snapshots: follows from NextUndelivered
	NextUndelivered ContainerSlot
	Undelivered     bool // in the application's Undelivered list

	State       yarn.ContainerState
	Locality    yarn.Locality
	AM          bool
	OnNode      bool  // in the sums and the list of the node: the node has not reported the end
	Launched    bool  // its node has reported it
	Signal      uint8 // signal that the node must still send, as YARN's number; 0: none
	Sizing      uint8 // marks of its Resize; not in snapshots
	ExitStatus  int32
	GrantedIn   int32           // response that delivered the allocation; 0: none yet; or DeliveredEarlier
	CompletedIn int32           // response that delivered the completion; 0: none yet
	Diagnostics DiagnosticsSlot // slot of its Diagnostics

	PrevApp, NextApp   ContainerSlot
	PrevNode, NextNode ContainerSlot
	Resize             ResizeSlot // slot of its Resize; not in snapshots: follows from Resizes

	Key             yarn.SchedulerKey
	Size            yarn.Resource
	AllocatedMillis int64
}

// Code encodes the record, or decodes into it.
func (k *Container) Code(c *codec.Coder) {
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
	codec.Slot(c, &k.PrevApp)
	codec.Slot(c, &k.NextApp)
	codec.Slot(c, &k.PrevNode)
	codec.Slot(c, &k.NextNode)
	codec.Slot(c, &k.NextUndelivered)
	c.Bool(&k.Undelivered)
}

// Containers is the table of containers.
type Containers struct {
	table.Keyed[ContainerSlot, Container, *Container]
}

// Find returns the slot of a container of an application, or 0 if it does not exist or was freed.
func (t *Containers) Find(app AppSlot, attempt uint32, number uint64) ContainerSlot {
	return t.Lookup(hashContainer(app, attempt, number), func(c *Container) bool {
		return c.App == app && c.Attempt == attempt && c.Number == number
	})
}

func hashContainer(app AppSlot, attempt uint32, number uint64) uint64 {
	return table.Mix(table.Mix(uint64(app)<<32|uint64(attempt)) ^ number)
}

// Hash returns the hash of the key.
func (c *Container) Hash() uint64 { return hashContainer(c.App, c.Attempt, c.Number) }

// Same reports whether the keys are equal.
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

// Fits reports whether size fits in free, in the resource kinds that the resource calculator
// compares.
func (t *QueueVersions) Fits(size, free yarn.Resource) bool {
	if v := t.Current(); v == nil || !v.Dominant {
		return size[yarn.Memory] <= free[yarn.Memory]
	}
	return size.Within(free)
}

// AddUndelivered puts a container at the front of its application's undelivered list, unless the
// list has it.
func (t *Containers) AddUndelivered(slot ContainerSlot, a *App) {
	c := t.Mut(slot)
	if c.Undelivered {
		return
	}
	c.Undelivered, c.NextUndelivered = true, a.Undelivered
	if c.NextUndelivered != 0 {
		t.Mut(c.NextUndelivered).PrevUndelivered = slot
	}
	a.Undelivered = slot
}

// HasPendingCommand reports whether the node must still launch, kill, signal or resize the
// container, or confirm its size. Node.PendingCommands counts such containers.
func (c *Container) HasPendingCommand() bool {
	return c.OnNode && (c.State == yarn.ContainerReleasing || (c.AM && !c.Launched) || c.Signal != 0 || c.Sizing != 0)
}

// Unstarted reports whether the AM has received the container and the node has not reported it.
func (c *Container) Unstarted() bool {
	return c.State == yarn.ContainerAcquired && !c.Launched && !c.AM
}

// Unused reports whether the container, or an increase of it, was granted but no node has reported
// its use.
func (c *Container) Unused() bool {
	return c.Unstarted() || c.Sizing&SizeUnconfirmed != 0
}

// ChangeCommand calls f, which changes the container, and updates PendingCommands of its node.
func (t *Nodes) ChangeCommand(c *Container, f func()) {
	before := c.HasPendingCommand()
	f()
	if after := c.HasPendingCommand(); before != after {
		t.Mut(c.Node).PendingCommands += count(after) - count(before)
	}
}

// RemoveUndelivered removes a container from its application's undelivered list.
func (t *Containers) RemoveUndelivered(slot ContainerSlot, a *App) {
	c := t.Mut(slot)
	if !c.Undelivered {
		return
	}
	prev, next := c.PrevUndelivered, c.NextUndelivered
	if prev != 0 {
		t.Mut(prev).NextUndelivered = next
	} else {
		a.Undelivered = next
	}
	if next != 0 {
		t.Mut(next).PrevUndelivered = prev
	}
	c.Undelivered, c.PrevUndelivered, c.NextUndelivered = false, 0, 0
}
