package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Preemption is the warning that a container will be preempted. It exists until it is withdrawn or
// the container ends.
type Preemption struct {
	Reservation                 uint64 // reservation of its node that needs the room; 0: none
	Queue                       string // path of the leaf that gains; the queue may no longer exist
	Cause                       yarn.PreemptionCause
	ToldIn                      int32 // response that delivered the warning to the AM; 0: none yet
	AskedMillis, DeadlineMillis int64
	// Under is how much the gaining queue was below its entitlement, Over how much the container's
	// queue was above its own. Sets is the number of sets of containers that were compared, Cost
	// the cost of the container's set.
	Under, Over yarn.Resource
	Sets        uint32
	Cost        uint64
}

// Preempted is what an application has lost by preemption. Size and ResourceSeconds are sums over
// the preempted containers; Resizes.ResourceSeconds gives the ResourceSeconds of one.
type Preempted struct {
	Containers      uint64 // without AMs
	AMs             uint64
	Size            yarn.Resource
	ResourceSeconds yarn.Resource
}

// Preemptions has the preemption warnings, by the slot of the container.
type Preemptions struct {
	table.Table[ContainerSlot, Preemption]
}

// Losses has what applications have lost by preemption, by the slot of the App.
type Losses struct {
	table.Table[AppSlot, Preempted]
}

// Of returns what an application has lost by preemption.
func (t *Losses) Of(app AppSlot) Preempted {
	if !t.Has(app) {
		return Preempted{}
	}
	return *t.Get(app)
}

// Add returns the sum of two losses.
func (p Preempted) Add(o Preempted) Preempted {
	return Preempted{Containers: p.Containers + o.Containers, AMs: p.AMs + o.AMs,
		Size: p.Size.Add(o.Size), ResourceSeconds: p.ResourceSeconds.Add(o.ResourceSeconds)}
}

// Ensure returns an application's Preempted record for writing. It creates the record if there
// is none.
func (t *Losses) Ensure(app AppSlot) *Preempted {
	if t.Has(app) {
		return t.Mut(app)
	}
	return table.Place(&t.Table, app)
}

// Deliver stamps a container's warning with the response that delivers it. It returns
// false if there is no warning, or if an earlier response has delivered it.
func (t *Preemptions) Deliver(slot ContainerSlot, response int32) bool {
	if !t.Has(slot) || t.Get(slot).ToldIn != 0 {
		return false
	}
	t.Mut(slot).ToldIn = response
	return true
}

// Code encodes the record, or decodes into it.
func (p *Preemption) Code(c *codec.Coder) {
	c.U64(&p.Reservation)
	c.String(&p.Queue)
	codec.Enum(c, &p.Cause)
	c.I32(&p.ToldIn)
	c.I64(&p.AskedMillis)
	c.I64(&p.DeadlineMillis)
	c.Resource(&p.Under)
	c.Resource(&p.Over)
	c.U32(&p.Sets)
	c.U64(&p.Cost)
}

// Code encodes the record, or decodes into it.
func (p *Preempted) Code(c *codec.Coder) {
	c.U64(&p.Containers)
	c.U64(&p.AMs)
	c.Resource(&p.Size)
	c.Resource(&p.ResourceSeconds)
}

// Code encodes the record, or decodes into it.
func (t *PreemptionTotals) Code(c *codec.Coder) {
	for _, counts := range []*[yarn.MaxCauses]uint64{(*[yarn.MaxCauses]uint64)(&t.Preempted),
		(*[yarn.MaxCauses]uint64)(&t.Withdrawn), (*[yarn.MaxCauses]uint64)(&t.Unused)} {
		for i := range counts {
			c.U64(&counts[i])
		}
	}
	c.Resource(&t.ResourceSeconds)
}
