package rerun

import (
	"context"
	"errors"
	"time"

	"rmd/analysis/runner"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/yarn"
)

// Epoch is the Unix time in milliseconds at which a Cluster begins. The value does not matter.
const Epoch = 1_700_000_000_000

// Cluster is a cluster without replicas, on which package workload simulates jobs: a runner whose
// clock is the time of the simulation. Deadlines use that clock too, and equal calls give equal
// answers.
type Cluster struct {
	*runner.Runner
	Elapsed time.Duration // since the simulation began
	Err     error         // ends the simulation if it is not nil
}

// NewCluster returns a cluster with queues and without nodes.
func NewCluster(properties []capacity.Property, eager bool) (*Cluster, error) {
	r, err := runner.New(state.New(), eager)
	if err != nil {
		return nil, err
	}
	r.Now = Epoch
	in := &input.InitCluster{ClusterID: "rerun", ClusterTimestamp: Epoch}
	for _, p := range properties {
		in.Properties = append(in.Properties, input.Property(p))
	}
	if reply, _ := r.Plan(in); reply.Refused() != nil {
		return nil, reply.Refused()
	}
	return &Cluster{Runner: r}, nil
}

// Do implements workload.Submitter.
func (c *Cluster) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	if err := errors.Join(context.Cause(ctx), c.Err); err != nil {
		return nil, errors.Join(errors.New("rerun: the run ended early"), err)
	}
	if f := input.Check(input.Request{Input: in}); f != nil {
		return input.Refuse(in, f), nil
	}
	reply, _ := c.Plan(in)
	return reply, nil
}

// Advance sets the time since the simulation began.
func (c *Cluster) Advance(to time.Duration) { c.Elapsed, c.Now = to, Epoch+to.Milliseconds() }

// Simulate runs a workload on the cluster. It sets those fields of the configuration that depend on
// the cluster. It samples the utilization at the given interval.
func (c *Cluster) Simulate(ctx context.Context, w workload.Config, sample time.Duration) (*report.Summary, error) {
	w.Submitter, w.Kinds = c, c.Config().Kinds
	w.SampleEvery, w.ProgressEvery, w.Patience = sample, time.Minute, 60
	w.Granted = func() uint64 { return c.State().Meta.Allocated }
	w.Observe = func(context.Context) (workload.Observation, error) { return Observe(c.State()), nil }
	if w.Advance == nil {
		w.Advance = c.Advance
	}
	s, err := workload.Simulate(ctx, w)
	return s, errors.Join(err, c.Err)
}

// Observe reads the outcomes of reservations and the reserved resources from a state.
func Observe(st *state.State) workload.Observation {
	out := workload.Observation{Outcomes: report.Outcomes{Made: int64(st.Meta.Made), Fulfilled: int64(st.Meta.Fulfilled),
		Causes: map[string]int64{}}}
	for cause, n := range st.Meta.Cancelled.Named() {
		out.Outcomes.Cancelled += int64(n)
		out.Outcomes.Causes[cause] = int64(n)
	}
	var held, idle yarn.Resource
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		held = held.Add(r.Size)
		idle = idle.Add(yarn.ComponentMax(yarn.ComponentMin(r.Size, st.Nodes.Get(r.Node).Unallocated()), yarn.Resource{}))
		return true
	})
	kinds := st.Versions.Kinds()
	out.Reserved, out.ReservedIdle = Resource(kinds, held), Resource(kinds, idle)
	return out
}

// Resource returns an amount as reports have it.
func Resource(kinds yarn.Kinds, r yarn.Resource) report.Resource {
	out := report.Resource{MemoryMB: r[yarn.Memory], VCores: r[yarn.VCores]}
	if i := kinds.Index(yarn.GPUName); i >= 0 {
		out.GPUs = r[i]
	}
	return out
}
