package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// GangDeclared says which containers of an application start together or not at all. It replaces the
// gang that the application had, and begins its wait again.
type GangDeclared struct {
	App  uint32
	Gang yarn.Gang
}

// GangReserved holds a node for members of a gang, though some may fit already. Nothing is charged for
// it: its room may be in use still. All reservations of a gang are made in one batch, for all of its
// members together.
type GangReserved struct {
	Reservation uint64
	App         uint32
	Number      uint64 // of a container, as ReservationMade has it
	Node        uint32
	Members     uint32
	// ExpectedMillis is when the nodes of the gang were expected to have room for it.
	ExpectedMillis int64
}

// GangStarted precedes the ContainerAllocated of all members of a gang, which follow in the same
// batch.
type GangStarted struct{ App uint32 }

// GangEnded says that a gang is none any more: what it waits for is served one by one.
type GangEnded struct {
	App   uint32
	Cause yarn.GangEnd
}

func (*GangDeclared) Kind() Kind { return KindGangDeclared }
func (*GangReserved) Kind() Kind { return KindGangReserved }
func (*GangStarted) Kind() Kind  { return KindGangStarted }
func (*GangEnded) Kind() Kind    { return KindGangEnded }

// Code implements Event.
func (e *GangDeclared) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Gang(&e.Gang)
}

// Code implements Event.
func (e *GangReserved) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	c.U32(&e.App)
	c.U64(&e.Number)
	c.U32(&e.Node)
	c.U32(&e.Members)
	c.I64(&e.ExpectedMillis)
}

// Code implements Event.
func (e *GangStarted) Code(c *codec.Coder) { c.U32(&e.App) }

// Code implements Event.
func (e *GangEnded) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Enum(c, &e.Cause)
}
