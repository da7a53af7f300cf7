package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// ReservationMade holds a node for one application's container that does not
// fit yet. Number is the container number it will become; Reservation is its own
// identity (r41). Its size is the key's, and the key's re-reservation counter
// starts again at zero.
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

// ReservationCancelled ends a reservation without a container. After an
// operator's cancellation the same key may not reserve that node again until the
// node's free resource changes.
type ReservationCancelled struct {
	Reservation uint64
	Cause       yarn.CancelCause
}

// ResizeReserved holds a node for what a container on it is to grow by. Such a
// reservation is fulfilled and cancelled as others are; fulfilled, it makes its
// container larger.
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
