package event

import (
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
	Node        uint32
	AM          bool
}

// ReservationFulfilled turns a reservation into its container.
type ReservationFulfilled struct {
	Reservation uint64
	Locality    yarn.Locality
}

// ReservationCancelled ends a reservation without a container. After an operator's cancellation the
// same key cannot reserve that node again until the node's free resources change.
type ReservationCancelled struct {
	Reservation uint64
	Cause       yarn.CancelCause
}

// ResizeReserved reserves a node for the increase of a container that runs there. Such a
// reservation is fulfilled and cancelled like others. If it is fulfilled, the container becomes
// larger.
type ResizeReserved struct {
	Reservation uint64
	Container   ContainerRef
}

func (*ResizeReserved) Kind() Kind       { return KindResizeReserved }
func (*ReservationMade) Kind() Kind      { return KindReservationMade }
func (*ReservationFulfilled) Kind() Kind { return KindReservationFulfilled }
func (*ReservationCancelled) Kind() Kind { return KindReservationCancelled }

// Code implements Event.
func (e *ReservationMade) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	c.U32(&e.App)
	c.U64(&e.Number)
	c.Key(&e.Key)
	c.U32(&e.Node)
	c.Bool(&e.AM)
}

// Code implements Event.
func (e *ReservationFulfilled) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	codec.Enum(c, &e.Locality)
}

// Code implements Event.
func (e *ReservationCancelled) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	codec.Enum(c, &e.Cause)
}

// Code implements Event.
func (e *ResizeReserved) Code(c *codec.Coder) {
	c.U64(&e.Reservation)
	e.Container.Code(c)
}
