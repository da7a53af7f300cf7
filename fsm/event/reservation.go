package event

import (
	"cmp"

	"rmd/internal/codec"
	"rmd/yarn"
)

// ReservationMade reserves a node for one application's container that does not fit yet.
// Reservation is the reservation's own number (r41). Number is the number of the future container.
// The size is that of the ask under Key, whose re-reservation counter is reset.
type ReservationMade struct {
	Reservation uint64
	App         uint32
	Number      uint64
	Key         yarn.SchedulerKey
	Node        yarn.NodeSlot
	AM          bool
}

var KindReservationMade = define[ReservationMade](80)

func (*ReservationMade) Kind() Kind { return KindReservationMade }

func (e *ReservationMade) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	c.U32(&e.App)
	c.U64(&e.Number)
	c.Key(&e.Key)
	codec.Slot(c, &e.Node)
	c.Bool(&e.AM)
}

func (*ReservationMade) Text() string {
	return "node reserved: the container does not fit yet"
}

// ReservationFulfilled turns a reservation into its container.
type ReservationFulfilled struct {
	Reservation uint64
	Locality    yarn.Locality
}

var KindReservationFulfilled = define[ReservationFulfilled](81)

func (*ReservationFulfilled) Kind() Kind { return KindReservationFulfilled }

func (e *ReservationFulfilled) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	codec.Enum(c, &e.Locality)
}

func (*ReservationFulfilled) Text() string {
	return "reservation fulfilled: its container is placed"
}

// ReservationCancelled ends a reservation without a container. After an operator's cancellation the
// same key cannot reserve that node again until the node's free resources change.
type ReservationCancelled struct {
	Reservation uint64
	Cause       yarn.CancelCause
}

var KindReservationCancelled = define[ReservationCancelled](82)

func (*ReservationCancelled) Kind() Kind { return KindReservationCancelled }

func (e *ReservationCancelled) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	codec.Enum(c, &e.Cause)
}

func (e *ReservationCancelled) Text() string {
	return because("reservation cancelled", cmp.Or(e.Cause.Text(), words(e.Cause)))
}

// ResizeReserved reserves a node for the increase of a container that runs there. Such a
// reservation is fulfilled and cancelled like others. If it is fulfilled, the container becomes
// larger.
type ResizeReserved struct {
	Reservation uint64
	Container   ContainerRef
}

var KindResizeReserved = define[ResizeReserved](83)

func (*ResizeReserved) Kind() Kind { return KindResizeReserved }

func (e *ResizeReserved) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	e.Container.Code(c)
}
