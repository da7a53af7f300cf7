package replay

import (
	"context"
	"slices"
	"time"

	"rmd/analysis/rerun"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/workload/trace"
)

// selectors are the runs of ComparePreemption with their configuration keys.
var selectors = []struct {
	name string
	keys []capacity.Property
}{
	{"off", []capacity.Property{{Name: enablePreemption, Value: "false"}}},
	{"planned", []capacity.Property{{Name: enablePreemption, Value: "true"}, {Name: selectPreempted, Value: "planned"}}},
	{"yarn", []capacity.Property{{Name: enablePreemption, Value: "true"}, {Name: selectPreempted, Value: "yarn"}}},
	{"yarn, reserved", []capacity.Property{{Name: enablePreemption, Value: "true"}, {Name: selectPreempted, Value: "yarn"},
		{Name: "yarn.resourcemanager.monitor.capacity.preemption.select_based_on_reserved_containers", Value: "true"}}},
}

const (
	enablePreemption = "yarn.resourcemanager.scheduler.monitor.enable"
	selectPreempted  = capacity.Prefix + "preemption.selector"
)

// ComparePreemption replays the trace without preemption and with each selector, with planners in
// virtual time. Equal options give equal results. Preemption is between queues. Unless queues are
// given, the jobs of a trace with one queue therefore alternate between two queues.
func ComparePreemption(ctx context.Context, o Options) ([]report.Preemption, error) {
	if o.Queues == nil && len(o.Trace.Queues) == 1 {
		o.Trace = split(o.Trace)
	}
	var runs []report.Preemption
	for _, s := range selectors {
		run, err := o.preempting(ctx, s.name, s.keys)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// split returns the trace with two queues below its one queue. The jobs alternate between them.
func split(t *trace.Trace) *trace.Trace {
	out, queue := *t, t.Queues[0]
	out.Jobs, out.Queues = slices.Clone(t.Jobs), []string{queue + ".1", queue + ".2"}
	for i := range out.Jobs {
		out.Jobs[i].Queue = out.Queues[i%2]
	}
	return &out
}

// preempting replays the trace with additional keys.
func (o Options) preempting(ctx context.Context, selector string, keys []capacity.Property) (report.Preemption, error) {
	v, err := o.cluster(keys)
	if err != nil {
		return report.Preemption{}, err
	}
	t := newTally(v)
	c := o.config(selector)
	c.MaxMeasured = 0
	addRounds(&c, v)
	s, err := v.Simulate(ctx, c, time.Minute)
	if err != nil {
		return report.Preemption{}, err
	}
	return t.summary(selector, s.EndMillis), nil
}

// addRounds adds the rounds of preemption to a workload, if the cluster's queues have preemption on.
func addRounds(c *workload.Config, v *rerun.Cluster) {
	if s := &v.Config().Preemption; s.Enabled {
		c.RoundEvery = time.Duration(s.IntervalMillis) * time.Millisecond
		c.Round = func() bool {
			_, events := v.Plan(&input.PreemptionRound{})
			return len(events) > 0
		}
	}
}
