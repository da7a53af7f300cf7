package event

import (
	"strings"

	"rmd/internal/codec"
	"rmd/yarn"
)

// PreemptionAsked warns a container. Unless the warning is withdrawn, the container is ended after
// the deadline, to make room for a reservation of its node or for another queue.
type PreemptionAsked struct {
	Container      ContainerRef
	Reservation    uint64 // the reservation that needs the room; 0: none
	Queue          string // path of the leaf that gains
	Cause          yarn.PreemptionCause
	DeadlineMillis int64
	Under          yarn.Resource // by how much the gaining queue is below its entitlement
	Over           yarn.Resource // by how much the container's queue is above its entitlement
	Sets           uint32        // number of sets of containers that were compared
	Cost           uint64        // cost of the container's set
}

var KindPreemptionAsked = define[PreemptionAsked](84)

func (*PreemptionAsked) Kind() Kind { return KindPreemptionAsked }

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

func (e *PreemptionAsked) Text() string {
	return strings.TrimSuffix("container warned: it is to end for "+e.Queue, " for ")
}

// PreemptionWithdrawn withdraws the warning of a container.
type PreemptionWithdrawn struct {
	Container ContainerRef
	Cause     yarn.WithdrawalCause
}

var KindPreemptionWithdrawn = define[PreemptionWithdrawn](85)

func (*PreemptionWithdrawn) Kind() Kind { return KindPreemptionWithdrawn }

func (e *PreemptionWithdrawn) Code(c *codec.Coder) {
	e.Container.Code(c)
	codec.Enum(c, &e.Cause)
}

func (*PreemptionWithdrawn) Text() string {
	return "warning withdrawn: the container goes on"
}

// GuaranteeOwed records whether a leaf waits for containers within its guarantee of the nodes of a
// label, or of the nodes without one if Label is empty.
type GuaranteeOwed struct {
	Path  string
	Label string
	Debt  yarn.Debt
}

var KindGuaranteeOwed = define[GuaranteeOwed](87)

func (*GuaranteeOwed) Kind() Kind { return KindGuaranteeOwed }

func (e *GuaranteeOwed) Code(c *codec.Coder) {
	c.String(&e.Path)
	c.String(&e.Label)
	codec.Enum(c, &e.Debt)
}

// GuaranteeKept records how much other leaves may not borrow of a leaf's guarantee of the nodes of a
// label, because containers ended for it and the leaf has used as much lately. It ends when Size and
// IdleLeft are zero.
type GuaranteeKept struct {
	Path          string
	Label         string
	Size          yarn.Resource // with the containers and reservations that the leaf has
	ReachedMillis int64         // when the leaf last used as much, in Unix milliseconds
	// IdleLeft is how much of the nodes of the label may still stand idle for it, in milliseconds of
	// 2^-32 of them.
	IdleLeft uint64
}

var KindGuaranteeKept = define[GuaranteeKept](88)

func (*GuaranteeKept) Kind() Kind { return KindGuaranteeKept }

// Since implements Later.
func (*GuaranteeKept) Since() uint32 { return 2 }

func (e *GuaranteeKept) Code(c *codec.Coder) {
	c.String(&e.Path)
	c.String(&e.Label)
	c.Resource(&e.Size)
	c.I64(&e.ReachedMillis)
	c.U64(&e.IdleLeft)
}
