package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Resize records the size changes of a container, asked for or made. It is separate from Container
// because most containers never have one.
type Resize struct {
	Container   ContainerSlot
	Version     int32           // number of changes made
	Ask         AskSlot         // the hidden ask for the increase; 0: none
	Reservation ReservationSlot // of the container's node, for that ask; 0: none
	// Change is the change that the AM has not acknowledged. DeliveredIn is the response that
	// delivered it; 0: none yet.
	Change      yarn.SizeChange
	DeliveredIn int32
	// Unacked means that the node has not acknowledged the command to change the size. Unconfirmed
	// means that the node has not reported the container at its increased size. If the node never
	// does, the container shrinks back to Confirmed.
	Unacked     bool
	Unconfirmed bool
	Confirmed   yarn.Resource
	SinceMillis int64 // when the container got its current size
}

// Code encodes the record, or decodes into it.
func (r *Resize) Code(c *codec.Coder) {
	codec.Slot(c, &r.Container)
	c.I32(&r.Version)
	codec.Slot(c, &r.Ask)
	codec.Slot(c, &r.Reservation)
	codec.Enum(c, &r.Change)
	c.I32(&r.DeliveredIn)
	c.Bool(&r.Unacked)
	c.Bool(&r.Unconfirmed)
	c.Resource(&r.Confirmed)
	c.I64(&r.SinceMillis)
}

// Resizes is the table of the size changes of containers.
type Resizes struct {
	table.Table[ResizeSlot, Resize]
}

// Marks of a container's Resize. Container.sizing repeats them, so that a reader of containers need
// not look up the Resize.
const (
	SizeUnacked     = 1 << iota // Resize.Unacked
	SizeUnconfirmed             // Resize.Unconfirmed
)

// Marks returns the marks that Container.Sizing repeats.
func (r *Resize) Marks() uint8 {
	return uint8(count(r.Unacked)*SizeUnacked | count(r.Unconfirmed)*SizeUnconfirmed)
}

// Of returns the record of a container's size changes, or nil if its size never changed and no
// change is asked for.
func (t *Resizes) Of(c *Container) *Resize {
	if c.Resize == 0 {
		return nil
	}
	return t.Get(c.Resize)
}

// Version returns how often a container's size has changed.
func (t *Resizes) Version(c *Container) int32 {
	if r := t.Of(c); r != nil {
		return r.Version
	}
	return 0
}

// Ensure returns the Resize of a container for writing. It creates the record if there is none.
func (t *Resizes) Ensure(slot ContainerSlot, c *Container) *Resize {
	if c.Resize == 0 {
		at, r := table.Alloc(&t.Table)
		*r = Resize{Container: slot, SinceMillis: c.AllocatedMillis, Confirmed: c.Size}
		c.Resize = at
	}
	return t.Mut(c.Resize)
}

// AskBefore reports whether a comes before b in an application's list of asks: asks for new
// containers first, then by key, then by the container to increase.
func (t *Containers) AskBefore(a, b *Ask) bool {
	switch {
	case (a.IncreaseOf == 0) != (b.IncreaseOf == 0):
		return a.IncreaseOf == 0
	case a.Key != b.Key || a.IncreaseOf == 0:
		return a.Key.Less(b.Key)
	}
	x, y := t.Get(a.IncreaseOf), t.Get(b.IncreaseOf)
	if x.Attempt != y.Attempt {
		return x.Attempt < y.Attempt
	}
	return x.Number < y.Number
}

// SetResizeMarks sets whether the container's node must acknowledge or confirm its size.
func (t *Nodes) SetResizeMarks(c *Container, r *Resize, unacked, unconfirmed bool) {
	t.ChangeCommand(c, func() {
		r.Unacked, r.Unconfirmed = unacked, unconfirmed
		c.Sizing = r.Marks()
	})
}

// Reserved reports whether the container's node is reserved for its increase. The
// reservation must end before the container does.
func (t *Resizes) Reserved(c *Container) bool {
	r := t.Of(c)
	return r != nil && r.Reservation != 0
}

// Deliver stamps a size change with the response that delivers it. It returns false if there
// is no change, or if an earlier response has delivered it.
func (t *Resizes) Deliver(c *Container, response int32) bool {
	if c.Resize == 0 || t.Get(c.Resize).Change == yarn.SizeKept {
		return false
	}
	r := t.Mut(c.Resize)
	if r.DeliveredIn == 0 {
		r.DeliveredIn = response
		return true
	}
	r.Change, r.DeliveredIn = yarn.SizeKept, 0
	return false
}

// Redeliver lets a size change be delivered again after a resync. It returns false if there
// is no change.
func (t *Resizes) Redeliver(c *Container) bool {
	if c.Resize == 0 || t.Get(c.Resize).Change == yarn.SizeKept {
		return false
	}
	t.Mut(c.Resize).DeliveredIn = 0
	return true
}

// ForgetChange removes the size change that an ended attempt has not received.
func (t *Resizes) ForgetChange(c *Container) {
	if c.Resize != 0 && t.Get(c.Resize).Change != yarn.SizeKept {
		r := t.Mut(c.Resize)
		r.Change, r.DeliveredIn = yarn.SizeKept, 0
	}
}

// ResourceSeconds returns a container's size times the seconds that it was held, up to the given
// time in Unix milliseconds. As in YARN, the time counts from the allocation, and the result is
// rounded down to whole resource-seconds per container. After a size change the time counts from
// that change: changeSize has added the time before it to the application.
func (t *Resizes) ResourceSeconds(c *Container, untilMillis int64) yarn.Resource {
	since := c.AllocatedMillis
	if c.Resize != 0 {
		if r := t.Get(c.Resize); r.Version > 0 {
			since = r.SinceMillis
		}
	}
	return c.Size.Seconds(untilMillis - since)
}
