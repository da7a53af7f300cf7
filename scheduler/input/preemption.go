package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// PreemptionRound runs a preemption round: the planner computes what each queue is entitled to, and
// which containers others must give up for it.
type PreemptionRound struct{}

// Preempting is a container with a preemption warning. It ends soon after the deadline unless its
// AM ends it earlier or it is no longer needed.
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
