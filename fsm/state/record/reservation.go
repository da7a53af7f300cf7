package record

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Reservation reserves a node for one container of an application that does not fit there yet. It
// is charged to queues, user and application, but not to the node.
type Reservation struct {
	Number     uint64 // r<Number>; also the order of creation
	App        AppSlot
	Key        yarn.SchedulerKey
	Node       NodeSlot
	Attempt    uint32
	Container  uint64 // number of the future container, or of the container that it increases
	Size       yarn.Resource
	AM         bool
	MadeMillis int64
	IncreaseOf ContainerSlot // slot of the container that it makes larger; 0: none; not in snapshots
	Preempted  uint32        // containers preempted to make room for it
	Members    uint32        // gang members for which it reserves the node; Size is then 0; 0: no gang

	PrevApp, NextApp ReservationSlot
}

// Code encodes the record, or decodes into it.
func (r *Reservation) Code(c *codec.Coder) {
	c.U64(&r.Number)
	codec.Slot(c, &r.App)
	c.Key(&r.Key)
	codec.Slot(c, &r.Node)
	c.U32(&r.Attempt)
	c.U64(&r.Container)
	c.Resource(&r.Size)
	c.Bool(&r.AM)
	c.I64(&r.MadeMillis)
	codec.Slot(c, &r.PrevApp)
	codec.Slot(c, &r.NextApp)
	c.U32(&r.Preempted)
	c.U32(&r.Members)
}

// ReservationBan prevents one key from reserving one node until the node's free resources change.
// Without it, the next pass after an operator's cancellation would make the same reservation again.
type ReservationBan struct {
	App  AppSlot
	Key  yarn.SchedulerKey
	Next ReservationBanSlot
}

// Code encodes the record, or decodes into it.
func (b *ReservationBan) Code(c *codec.Coder) {
	codec.Slot(c, &b.App)
	c.Key(&b.Key)
	codec.Slot(c, &b.Next)
}

// Reservations is the table of reservations.
type Reservations struct {
	table.Keyed[ReservationSlot, Reservation, *Reservation]
}

// ReservationBans is the table of reservation bans.
type ReservationBans struct {
	table.Table[ReservationBanSlot, ReservationBan]
}

// Find returns the slot of a reservation, or 0 if there is none.
func (t *Reservations) Find(number uint64) ReservationSlot {
	return t.Lookup(table.Mix(number), func(r *Reservation) bool { return r.Number == number })
}

// Hash returns the hash of the key.
func (r *Reservation) Hash() uint64 { return table.Mix(r.Number) }

// Same reports whether the keys are equal.
func (r *Reservation) Same(other *Reservation) bool { return r.Number == other.Number }

// Forbids reports whether an operator's cancellation prevents a key from reserving a
// node.
func (t *ReservationBans) Forbids(n *Node, app AppSlot, key yarn.SchedulerKey) bool {
	for slot := n.ReservationBans; slot != 0; {
		b := t.Get(slot)
		if b.App == app && b.Key == key {
			return true
		}
		slot = b.Next
	}
	return false
}

// FreeRoomChanged removes the reservation bans of a node. The caller has changed the free resources
// of the node.
func (t *ReservationBans) FreeRoomChanged(m *Meta, n *Node) {
	for slot := n.ReservationBans; slot != 0; {
		next := t.Get(slot).Next
		table.Release(&t.Table, slot)
		slot = next
	}
	n.ReservationBans = 0
	m.FoldResource(n.Allocated)
}

// Named returns the reservation of an event.
func (t *Reservations) Named(e event.Event, number uint64) (ReservationSlot, *Reservation, error) {
	slot := t.Find(number)
	if slot == 0 {
		return 0, nil, Broken(e, "no such reservation")
	}
	return slot, t.Get(slot), nil
}

// MakesRoom reports whether the end of a container can help a reservation.
func (t *Reservations) MakesRoom(slot ContainerSlot, c *Container, number uint64) bool {
	r := t.Find(number)
	return r != 0 && t.Get(r).Node == c.Node && t.Get(r).IncreaseOf != slot
}
