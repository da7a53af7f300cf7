package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rmd/analysis/shadow"
	"rmd/api"
	"rmd/fsm/event"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/workload"
)

// ShadowRun is the result of a trace with a shadow that has another configuration, and of the same
// trace in a cluster with that configuration.
type ShadowRun struct {
	Beside *api.Shadow `json:"beside"`
	// Actual is the result of the second run, whose cluster and shadow both have the other
	// configuration. The cluster's side is what happens with that configuration. It is nil if the
	// two configurations are the same.
	Actual *api.Shadow `json:"actual,omitempty"`
}

// MeasureShadow replays the trace with a planner in virtual time and with a shadow that has other
// keys. It compares the shadow's results with those of a cluster that has those keys.
func MeasureShadow(ctx context.Context, o Options, keys []capacity.Property) (*ShadowRun, error) {
	out := &ShadowRun{}
	var err error
	if out.Beside, err = o.shadowed(ctx, "beside", nil, keys); err != nil || len(out.Beside.Changes) == 0 {
		return out, err
	}
	out.Actual, err = o.shadowed(ctx, "actual", keys, keys)
	return out, err
}

// shadowed replays the trace with the additional keys, and with a shadow that has others instead.
func (o Options) shadowed(ctx context.Context, run string, keys, others []capacity.Property) (*api.Shadow, error) {
	queues, err := o.queues(keys)
	if err != nil {
		return nil, err
	}
	other, err := o.queues(others)
	if err != nil {
		return nil, err
	}
	v, err := newVirtual(queues, o.Scheduling == "eager")
	if err != nil {
		return nil, err
	}
	so := shadow.DefaultOptions()
	so.Eager = o.Scheduling == "eager"
	var properties []input.Property
	for _, p := range other.Properties() {
		properties = append(properties, input.Property(p))
	}
	s, _, err := shadow.New(v.planner.State().Fork(), 1, properties, so)
	if err != nil {
		return nil, err
	}
	b := &shadowedCluster{virtual: v, shadow: s}
	c := o.config(run)
	c.Kinds, c.Submitter, c.MaxMeasured = queues.Kinds, b, 0
	c.SampleEvery, c.ProgressEvery, c.Patience = time.Minute, time.Minute, 60
	c.Advance = b.advance
	c.Granted = func() uint64 { return v.planner.State().Meta.Allocated }
	if set := &queues.Preemption; set.Enabled {
		c.RoundEvery = time.Duration(set.IntervalMillis) * time.Millisecond
		c.Round = func() bool {
			_, changed := b.plan(&input.PreemptionRound{})
			return changed
		}
	}
	if _, err := workload.Simulate(ctx, c); err != nil {
		return nil, errors.Join(err, b.err)
	}
	b.flush()
	for end, n := s.Now()+so.BehindMillis, int64(0); s.Waits() && n < afterHours && b.err == nil; n++ {
		b.err = s.Advance(end + n*time.Hour.Milliseconds())
	}
	if b.err == nil && s.Same() {
		if cluster, own := s.Digests(); cluster != own || cluster != v.planner.State().Digest() {
			return s.Report(), fmt.Errorf("the shadow of the same configuration has digest %016x, the cluster %016x", own, v.planner.State().Digest())
		}
	}
	return s.Report(), b.err
}

// afterHours is how many hours after the trace the shadow runs at most, for applications that still
// wait there.
const afterHours = 7 * 24

// shadowedCluster is a virtual cluster with a shadow. All events of one time form one log entry.
type shadowedCluster struct {
	*virtual
	shadow  *shadow.Shadow
	pending []event.Event
	index   uint64
	err     error
}

// Do implements workload.Submitter.
func (b *shadowedCluster) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	if err := errors.Join(context.Cause(ctx), b.err); err != nil {
		return nil, errors.Join(errors.New("replay: the run ended early"), err)
	}
	reply, _ := b.plan(in)
	return reply, nil
}

func (b *shadowedCluster) plan(in input.Input) (reply input.Reply, changed bool) {
	reply, events := b.planner.Plan(virtualEpoch+b.now.Milliseconds(), input.Request{Input: in})
	b.pending = append(b.pending, slices.Clone(events)...)
	return reply, len(events) > 0
}

// advance gives the shadow the pending events, then sets the clock.
func (b *shadowedCluster) advance(to time.Duration) {
	b.flush()
	b.now = to
}

func (b *shadowedCluster) flush() {
	if len(b.pending) > 0 && b.err == nil {
		b.index++
		b.err = b.shadow.Apply(b.index, b.pending)
		b.pending = nil
	}
}
