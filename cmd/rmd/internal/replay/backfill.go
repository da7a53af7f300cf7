package replay

import (
	"context"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/yarn"
)

const backfillKey = capacity.Prefix + "root.backfill"

// backfills are the runs of a comparison of backfill, with the keys that make them.
var backfills = []struct {
	name string
	keys []capacity.Property
}{
	{"off", nil},
	{"declared", []capacity.Property{{Name: backfillKey, Value: "declared"}}},
	{"preemptable", []capacity.Property{{Name: backfillKey, Value: "preemptable"}}},
	{"earliest node", []capacity.Property{{Name: backfillKey, Value: "declared"}, {Name: capacity.Prefix + "reservation.node", Value: "earliest"}}},
	{"no reservations", []capacity.Property{{Name: noReservations, Value: "0"}}},
}

// CompareBackfill replays the trace with backfill and without, on planners in virtual time. Applications
// declare how long their containers run in the trace. Equal options give equal figures.
func CompareBackfill(ctx context.Context, o Options) ([]report.Backfill, error) {
	var runs []report.Backfill
	for _, b := range backfills {
		run, err := o.backfilling(ctx, b.name, b.keys)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// startMillis is what a container of the simulation takes from its allocation to its start at most: a
// heartbeat of its AM and one of its node.
const startMillis = 2000

// backfilling replays the trace with some keys more.
func (o Options) backfilling(ctx context.Context, name string, keys []capacity.Property) (report.Backfill, error) {
	queues, err := o.queues(keys)
	if err != nil {
		return report.Backfill{}, err
	}
	v, err := newVirtual(queues, o.Scheduling == "eager")
	if err != nil {
		return report.Backfill{}, err
	}
	b := &lender{virtual: v}
	c := o.config(name)
	c.Kinds, c.Submitter, c.Declare, c.StartMillis = queues.Kinds, b, true, startMillis
	c.SampleEvery, c.ProgressEvery, c.Patience = time.Minute, time.Minute, 60
	c.Advance = func(to time.Duration) { v.now = to }
	c.Granted = func() uint64 { return v.planner.State().Meta.Allocated }
	c.Observe = func(context.Context) (workload.Observation, error) { return observe(v.planner.State()), nil }
	c.RoundEvery, c.Round = time.Second, b.round
	s, err := workload.Simulate(ctx, c)
	if err != nil {
		return report.Backfill{}, err
	}
	b.out.Name, b.out.Summary = name, s
	return b.out, nil
}

// lender is a virtual cluster where what is lent is counted.
type lender struct {
	*virtual
	out report.Backfill
}

// Do implements workload.Submitter.
func (b *lender) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	reply, events := b.planner.Plan(virtualEpoch+b.now.Milliseconds(), input.Request{Input: in})
	b.count(events)
	return reply, nil
}

func (b *lender) count(events []event.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case *event.ContainerLent:
			b.out.Lent++
		case *event.PreemptionAsked:
			b.out.Recalled++
		case *event.ContainerReleased:
			if e.ExitStatus == yarn.ExitPreempted {
				b.out.Ended++
			}
		case *event.ContainerCompleted:
			if e.ExitStatus == yarn.ExitPreempted && e.Restore {
				b.out.Ended++
			}
		}
	}
}

// round ends what has borrowed a room for as long as it may.
func (b *lender) round() bool {
	now, due := virtualEpoch+b.now.Milliseconds(), false
	st := b.planner.State()
	st.Leases.Each(func(slot uint32, l *state.Lease) bool {
		due = l.DeadlineMillis != 0 && l.DeadlineMillis <= now || st.Preemptions.Has(slot) && st.Preemptions.Get(slot).DeadlineMillis <= now
		return !due
	})
	if due {
		_, events := b.planner.Plan(now, input.Request{Input: &input.PreemptionRound{}})
		b.count(events)
	}
	return due
}
