package replay

import (
	"context"
	"slices"
	"time"

	"rmd/analysis/rerun"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/yarn"
)

const (
	backfillKey = capacity.Prefix + "root.backfill"
	earliestKey = capacity.Prefix + "reservation.node"
)

// backfills are the settings that CompareBackfill compares.
var backfills = []struct {
	name string
	keys []capacity.Property
}{
	{"no reservations", []capacity.Property{{Name: noReservations, Value: "0"}}},
	{"off", nil},
	{"off, earliest", []capacity.Property{{Name: earliestKey, Value: "earliest"}}},
	{"declared", []capacity.Property{{Name: backfillKey, Value: "declared"}}},
	{"declared, earliest", []capacity.Property{{Name: backfillKey, Value: "declared"},
		{Name: earliestKey, Value: "earliest"}}},
	{"preemptable", []capacity.Property{{Name: backfillKey, Value: "preemptable"}}},
	{"preemptable, earliest", []capacity.Property{{Name: backfillKey, Value: "preemptable"},
		{Name: earliestKey, Value: "earliest"}}},
}

// CompareBackfill replays the trace with and without backfill, with planners in virtual time.
// Applications declare the run times of their containers in the trace. With Options.Copies above 1,
// each setting replays so many copies of the trace, in which applications arrive up to copyShift
// later. Otherwise a few long waits would determine the means of a single copy, and small changes
// would move them. Equal options give equal results.
func CompareBackfill(ctx context.Context, o Options) ([]report.Backfill, error) {
	all, err := playCopies(ctx, o, len(backfills),
		func(ctx context.Context, i int, o Options) (report.BackfillRun, error) {
			return o.backfilling(ctx, backfills[i].name, backfills[i].keys)
		})
	out := make([]report.Backfill, len(backfills))
	for i, b := range backfills {
		out[i] = report.Backfill{Name: b.name, Copies: all[i]}
	}
	return out, err
}

// startMillis is the maximum time from the allocation to the start of a simulated container: one
// heartbeat of its AM and one of its node.
const startMillis = 2000

// backfilling replays the trace with additional keys.
func (o Options) backfilling(ctx context.Context, name string, keys []capacity.Property) (report.BackfillRun, error) {
	b, c, err := o.lending(name, keys)
	if err != nil {
		return report.BackfillRun{}, err
	}
	s, err := b.Simulate(ctx, c, time.Minute)
	if err != nil {
		return report.BackfillRun{}, err
	}
	s.Series = nil // it is long, and the comparison has no plot
	return b.summary(s), nil
}

// lending returns a cluster with additional keys, and a workload for it.
func (o Options) lending(name string, keys []capacity.Property) (*lender, workload.Config, error) {
	v, err := o.cluster(keys)
	if err != nil {
		return nil, workload.Config{}, err
	}
	b := &lender{Cluster: v, awaitsAM: map[uint32]int64{}, begun: map[uint32]int64{}}
	v.After = b.planned
	c := o.config(name)
	c.Declare, c.StartMillis = true, startMillis
	c.RoundEvery, c.Round = time.Second, b.round
	return b, c, nil
}

// lender is a cluster that counts backfill.
type lender struct {
	*rerun.Cluster
	out      report.BackfillRun
	awaitsAM map[uint32]int64 // when applications without an AM began to wait for it
	waited   []int64          // completed waits for AMs, in milliseconds
	begun    map[uint32]int64 // when applications that have not ended were submitted
	took     []int64          // from the submissions to the ends of the others
	starts   []int64          // from the submissions of applications to the starts of their containers but for AMs
	wanted   float64          // share of the cluster times seconds
	changed  bool             // the cluster has changed
}

// planned counts what an input has changed.
func (b *lender) planned(_ input.Input, _ input.Reply, events []event.Event) {
	b.changed = b.changed || len(events) > 0
	for _, c := range b.Changes() {
		switch c.Kind {
		case change.AppPhase:
			b.follow(&c)
		case change.ContainerStarted:
			b.started(c.Ref.App, c.AM)
			if c.Lent {
				b.out.Lent++
			}
		case change.WarningBegun:
			b.out.Recalled++
		case change.ContainerEnded:
			if c.Exit == yarn.ExitPreempted {
				b.out.Ended++
			}
		}
	}
}

// follow follows the submission or the end of an application.
func (b *lender) follow(c *change.Change) {
	app, now := c.Ref.App, b.Elapsed.Milliseconds()
	if c.AppState.Ended() {
		b.took = append(b.took, now-b.begun[app])
		delete(b.begun, app)
		return
	}
	b.begun[app] = now
	if !b.State().Apps.Get(c.App).Unmanaged {
		b.awaitsAM[app] = now
	}
}

// started follows the start of a container, which ends the wait of its application for an AM if am is
// true.
func (b *lender) started(app uint32, am bool) {
	now := b.Elapsed.Milliseconds()
	if !am {
		b.starts = append(b.starts, now-b.begun[app])
	} else if since, waits := b.awaitsAM[app]; waits {
		b.waited = append(b.waited, now-since)
		delete(b.awaitsAM, app)
	}
}

// round counts wanted room and ends leases. The workload calls it each second in which a container
// waits.
func (b *lender) round() bool {
	b.wanted += b.wantedIdle(b.State())
	return b.endLeases()
}

// endLeases plans a preemption round if a lease or a preemption has reached its deadline, and
// reports whether it did.
func (b *lender) endLeases() bool {
	st, now, due := b.State(), b.Now, false
	st.Leases.Each(func(slot state.ContainerSlot, l *state.Lease) bool {
		due = l.DeadlineMillis != 0 && l.DeadlineMillis <= now ||
			st.Preemptions.Has(slot) && st.Preemptions.Get(slot).DeadlineMillis <= now
		return !due
	})
	if due {
		b.Plan(&input.PreemptionRound{})
	}
	return due
}

// wantedIdle returns the share of the cluster that is idle on reserved nodes although other waiting
// containers would fit there. It ignores limits, which may be why those containers wait.
func (b *lender) wantedIdle(st *state.State) float64 {
	var wanted yarn.Resource
	served := map[state.AskSlot]int64{} // containers of asks
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		n := st.Nodes.Get(r.Node)
		free := n.Unallocated()
		st.Asks.Each(func(slot state.AskSlot, k *state.Ask) bool {
			for k.Label == n.Label && (k.App != r.App || k.Key != r.Key) && served[slot] < k.Count &&
				b.Config().Calculator.FitsIn(k.Size, free) {
				free, wanted = free.Sub(k.Size), wanted.Add(k.Size)
				served[slot]++
			}
			return true
		})
		return true
	})
	kinds := st.Versions.Kinds()
	return rerun.Resource(kinds, wanted).DominantShare(rerun.Resource(kinds, st.Meta.Cluster))
}

// summary returns the result of the run.
func (b *lender) summary(s *report.Summary) report.BackfillRun {
	b.out.Summary, b.out.AMMeanMillis = s, b.masterWaits(s.EndMillis).MeanMillis
	b.out.Wanted = b.wanted * 1000 / float64(max(s.EndMillis, 1))
	return b.out
}

// masterWaits returns the waits for AMs. An application that still waits for its AM counts with its
// wait so far.
func (b *lender) masterWaits(endMillis int64) report.Waits {
	waited := slices.Clone(b.waited)
	for _, since := range b.awaitsAM {
		waited = append(waited, endMillis-since)
	}
	return report.WaitsOf(waited, len(b.awaitsAM))
}
