package replay

import (
	"context"
	"fmt"
	"time"

	"rmd/analysis/rerun"
	"rmd/analysis/shadow"
	"rmd/api"
	"rmd/fsm/event"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
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
	v, err := o.cluster(keys)
	if err != nil {
		return nil, err
	}
	other, err := o.queues(others)
	if err != nil {
		return nil, err
	}
	so := shadow.DefaultOptions()
	so.Eager = o.Scheduling == "eager"
	var properties []input.Property
	for _, p := range other.Properties() {
		properties = append(properties, input.Property(p))
	}
	s, _, err := shadow.New(v.State().Fork(), 1, properties, so)
	if err != nil {
		return nil, err
	}
	b := &shadowedCluster{Cluster: v, shadow: s}
	v.After = b.planned
	c := o.config(run)
	c.MaxMeasured, c.Advance = 0, b.advance
	addRounds(&c, v)
	if _, err := b.Simulate(ctx, c, time.Minute); err != nil {
		return nil, err
	}
	b.flush()
	for end, n := s.Now()+so.BehindMillis, int64(0); s.Waits() && n < afterHours && b.Err == nil; n++ {
		b.Err = s.Advance(end + n*time.Hour.Milliseconds())
	}
	if b.Err == nil && s.Same() {
		if cluster, own := s.Digests(); cluster != own || cluster != v.State().Digest() {
			return s.Report(), fmt.Errorf("the shadow of the same configuration has digest %016x, the cluster %016x", own,
				v.State().Digest())
		}
	}
	return s.Report(), b.Err
}

// afterHours is how many hours after the trace the shadow runs at most, for applications that still
// wait there.
const afterHours = 7 * 24

// shadowedCluster is a cluster with a shadow. All events of one time form one log entry.
type shadowedCluster struct {
	*rerun.Cluster
	shadow  *shadow.Shadow
	pending []event.Event
	index   uint64
}

// planned keeps the events of an input for the shadow.
func (b *shadowedCluster) planned(_ input.Input, _ input.Reply, events []event.Event) {
	b.pending = append(b.pending, events...)
}

// advance gives the shadow the pending events, then sets the clock.
func (b *shadowedCluster) advance(to time.Duration) {
	b.flush()
	b.Advance(to)
}

func (b *shadowedCluster) flush() {
	if len(b.pending) > 0 && b.Err == nil {
		b.index++
		b.Err = b.shadow.Apply(b.index, b.pending)
		b.pending = nil
	}
}
