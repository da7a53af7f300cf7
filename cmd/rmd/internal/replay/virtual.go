package replay

import (
	"context"
	"errors"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
)

// virtualEpoch is the Unix time in milliseconds at which a virtual cluster begins. The value does
// not matter.
const virtualEpoch = 1_700_000_000_000

// virtual is a cluster without replicas: a planner whose clock is the time of the trace. Deadlines
// use that clock too, and equal calls give equal answers.
type virtual struct {
	planner *planner.Planner
	now     time.Duration // since the trace began
	tally   *tally
}

func newVirtual(queues *capacity.Config, eager bool) (*virtual, error) {
	p, err := planner.New(state.New(), planner.Options{Eager: eager})
	if err != nil {
		return nil, err
	}
	in := &input.InitCluster{ClusterID: "replay", ClusterTimestamp: virtualEpoch}
	for _, k := range queues.Properties() {
		in.Properties = append(in.Properties, input.Property{Name: k.Name, Value: k.Value})
	}
	if reply, _ := p.Plan(virtualEpoch, input.Request{Input: in}); reply.Refused() != nil {
		return nil, reply.Refused()
	}
	return &virtual{planner: p, tally: newTally(p)}, nil
}

// Do implements workload.Submitter.
func (v *virtual) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, errors.Join(errors.New("replay: the run ended early"), err)
	}
	reply, _ := v.plan(in)
	return reply, nil
}

// plan answers an input, and reports whether the input changed the state.
func (v *virtual) plan(in input.Input) (reply input.Reply, changed bool) {
	now := virtualEpoch + v.now.Milliseconds()
	v.tally.before(now, in)
	reply, events := v.planner.Plan(now, input.Request{Input: in})
	v.tally.after(now, in, reply, v.planner.Changes())
	return reply, len(events) > 0
}
