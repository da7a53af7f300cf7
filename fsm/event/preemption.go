package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// PreemptionAsked warns a container: unless the warning is withdrawn, the container ends soon after
// the deadline, to make room for a reservation of its node or for another queue.
type PreemptionAsked struct {
	Container      ContainerRef
	Reservation    uint64 // that the room is for; 0: for none
	Queue          string // path of the leaf that gains
	Cause          yarn.PreemptionCause
	DeadlineMillis int64
	Under          yarn.Resource // by which the gaining queue is under its entitlement
	Over           yarn.Resource // by which the container's queue is over its entitlement
	Sets           uint32        // sets of containers that were compared
	Cost           uint64        // of the set that the container belongs to
}

// PreemptionWithdrawn takes the warning of a container back.
type PreemptionWithdrawn struct {
	Container ContainerRef
	Cause     yarn.WithdrawalCause
}

func (*PreemptionAsked) Kind() Kind     { return KindPreemptionAsked }
func (*PreemptionWithdrawn) Kind() Kind { return KindPreemptionWithdrawn }

// Code implements Event.
func (e *PreemptionAsked) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.U64(&e.Reservation)
	c.String(&e.Queue)
	codec.Enum(c, &e.Cause)
	c.I64(&e.DeadlineMillis)
	c.Resource(&e.Under)
	c.Resource(&e.Over)
	c.U32(&e.Sets)
	c.U64(&e.Cost)
}

// Code implements Event.
func (e *PreemptionWithdrawn) Code(c *codec.Coder) {
	e.Container.Code(c)
	codec.Enum(c, &e.Cause)
}
