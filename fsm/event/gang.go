package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// GangDeclared declares which containers of an application start together or not at all. It
// replaces an earlier gang of the application.
type GangDeclared struct {
	App  uint32
	Gang yarn.Gang
}

var KindGangDeclared = define[GangDeclared](110)

func (*GangDeclared) Kind() Kind { return KindGangDeclared }

func (e *GangDeclared) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Gang(&e.Gang)
}

// GangReserved reserves a node for members of a gang, even if some of them fit there already. It
// charges nothing, because the room may still be in use. The reservations for all members of a gang
// are made in one batch.
type GangReserved struct {
	Reservation uint64
	App         uint32
	Number      uint64 // container number, as in ReservationMade
	Node        yarn.NodeSlot
	Members     uint32
	// ExpectedMillis is when the gang's nodes are expected to have enough room.
	ExpectedMillis int64
}

var KindGangReserved = define[GangReserved](111)

func (*GangReserved) Kind() Kind { return KindGangReserved }

func (e *GangReserved) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	c.U32(&e.App)
	c.U64(&e.Number)
	codec.Slot(c, &e.Node)
	c.U32(&e.Members)
	c.I64(&e.ExpectedMillis)
}

// GangStarted comes before the ContainerAllocated events of all members of the gang, in the same
// batch.
type GangStarted struct{ App uint32 }

var KindGangStarted = define[GangStarted](112)

func (*GangStarted) Kind() Kind            { return KindGangStarted }
func (e *GangStarted) Code(c *codec.Coder) { c.U32(&e.App) }

// GangEnded ends a gang without starting it. Its ask is then served container by container.
type GangEnded struct {
	App   uint32
	Cause yarn.GangEnd
}

var KindGangEnded = define[GangEnded](113)

func (*GangEnded) Kind() Kind { return KindGangEnded }

func (e *GangEnded) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Enum(c, &e.Cause)
}
