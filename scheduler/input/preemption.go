package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// PreemptionRound has the planner judge what queues are owed and what others must give.
type PreemptionRound struct{}

// Preempting is a container that ends soon after the deadline, for another's sake, unless its AM ends
// it before or the need for it is gone.
type Preempting struct {
	Container      yarn.ContainerID
	Size           yarn.Resource
	DeadlineMillis int64
}

// Kind implements Input.
func (*PreemptionRound) Kind() Kind { return KindPreemptionRound }

// NewReply implements Input.
func (*PreemptionRound) NewReply() Reply { return new(Done) }

// Code implements Input.
func (*PreemptionRound) Code(*codec.Coder) {}

func (p *Preempting) code(c *codec.Coder) {
	c.ContainerID(&p.Container)
	c.Resource(&p.Size)
	c.I64(&p.DeadlineMillis)
}
