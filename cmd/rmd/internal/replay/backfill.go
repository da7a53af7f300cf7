package replay

import (
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

const (
	backfillKey = capacity.Prefix + "root.backfill"
	earliestKey = capacity.Prefix + "reservation.node"
)

// backfills are the settings of a comparison of backfill.
var backfills = []struct {
	name string
	keys []capacity.Property
}{
	{"no reservations", []capacity.Property{{Name: noReservations, Value: "0"}}},
	{"off", nil},
	{"off, earliest", []capacity.Property{{Name: earliestKey, Value: "earliest"}}},
	{"declared", []capacity.Property{{Name: backfillKey, Value: "declared"}}},
	{"declared, earliest", []capacity.Property{{Name: backfillKey, Value: "declared"}, {Name: earliestKey, Value: "earliest"}}},
	{"preemptable", []capacity.Property{{Name: backfillKey, Value: "preemptable"}}},
	{"preemptable, earliest", []capacity.Property{{Name: backfillKey, Value: "preemptable"}, {Name: earliestKey, Value: "earliest"}}},
}

// CompareBackfill replays the trace with backfill and without, on planners in virtual time. Applications
// declare how long their containers run in the trace. With Options.Copies above 1 each setting plays so
// many copies of the trace, in which applications arrive up to copyShift later: a few long waits decide
// the means of one copy, and others come with the smallest change. Equal options give equal figures.
func CompareBackfill(ctx context.Context, o Options) ([]report.Backfill, error) {
	copies := max(o.Copies, 1)
	out := make([]report.Backfill, len(backfills))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var runs sync.WaitGroup
	played := o.countRuns(copies * len(backfills))
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, b := range backfills {
		out[i] = report.Backfill{Name: b.name, Copies: make([]report.BackfillRun, copies)}
		for k := range copies {
			turns <- struct{}{}
			runs.Go(func() {
				defer func() { <-turns }()
				run, err := o.copied(k).backfilling(ctx, b.name, b.keys)
				if err != nil {
					cancel(err)
				}
				out[i].Copies[k] = run
				played()
			})
		}
	}
	runs.Wait()
	return out, context.Cause(ctx)
}

// countRuns tells the progress of runs that are played side by side, when one is over.
func (o Options) countRuns(all int) func() {
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; o.Progress != nil {
			o.Progress("", workload.Progress{Finished: int64(len(o.Trace.Jobs) * done / all)})
		}
	}
}

// copyShift is by how much applications of a copy arrive later, at most.
const copyShift = 10 * time.Second

// copied are the options for a copy of the trace. Copy 0 is the trace itself.
func (o Options) copied(number int) Options {
	o.Progress = nil
	if number > 0 {
		o.Trace = shifted(o.Trace, uint64(o.Seed), uint64(number))
	}
	return o
}

// shifted is a trace in which each application arrives a random time later.
func shifted(t *trace.Trace, seed, number uint64) *trace.Trace {
	rng := rand.New(rand.NewPCG(seed, number))
	out := *t
	out.Jobs = slices.Clone(t.Jobs)
	for i := range out.Jobs {
		out.Jobs[i].Submit += time.Duration(rng.Int64N(int64(copyShift)))
	}
	slices.SortStableFunc(out.Jobs, func(a, b trace.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return &out
}

// startMillis is what a container of the simulation takes from its allocation to its start at most: a
// heartbeat of its AM and one of its node.
const startMillis = 2000

// backfilling replays the trace with some keys more.
func (o Options) backfilling(ctx context.Context, name string, keys []capacity.Property) (report.BackfillRun, error) {
	queues, err := o.queues(keys)
	if err != nil {
		return report.BackfillRun{}, err
	}
	v, err := newVirtual(queues, o.Scheduling == "eager")
	if err != nil {
		return report.BackfillRun{}, err
	}
	b := &lender{virtual: v, masters: map[uint32]int64{}, reserved: map[uint64]uint32{}}
	c := o.config(name)
	c.Kinds, c.Submitter, c.Declare, c.StartMillis = queues.Kinds, b, true, startMillis
	c.SampleEvery, c.ProgressEvery, c.Patience = time.Minute, time.Minute, 60
	c.Advance = func(to time.Duration) { v.now = to }
	c.Granted = func() uint64 { return v.planner.State().Meta.Allocated }
	c.Observe = func(context.Context) (workload.Observation, error) { return observe(v.planner.State()), nil }
	c.RoundEvery, c.Round = time.Second, b.round
	s, err := workload.Simulate(ctx, c)
	if err != nil {
		return report.BackfillRun{}, err
	}
	s.Series = nil // it is long, and nothing is drawn
	return b.summary(s), nil
}

// lender is a virtual cluster where what is lent is counted.
type lender struct {
	*virtual
	out      report.BackfillRun
	masters  map[uint32]int64  // since when applications wait for their first AM
	reserved map[uint64]uint32 // reservations for AMs, with their applications
	waited   []int64           // of AMs
	wanted   float64           // parts of the cluster, times seconds
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
		case *event.ApplicationSubmitted:
			if !e.Unmanaged {
				b.masters[e.App] = b.now.Milliseconds()
			}
		case *event.ContainerAllocated:
			b.started(e.App, e.AM)
		case *event.ContainerLent:
			b.started(e.App, e.AM)
			b.out.Lent++
		case *event.ReservationMade:
			if e.AM {
				b.reserved[e.Reservation] = e.App
			}
		case *event.ReservationFulfilled:
			app, of := b.reserved[e.Reservation]
			b.started(app, of)
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

// started ends the wait of an application for its AM.
func (b *lender) started(app uint32, am bool) {
	if since, waits := b.masters[app]; am && waits {
		b.waited = append(b.waited, b.now.Milliseconds()-since)
		delete(b.masters, app)
	}
}

// round ends what has borrowed a room for as long as it may. It is called each second in which somebody
// waits.
func (b *lender) round() bool {
	now, due := virtualEpoch+b.now.Milliseconds(), false
	st := b.planner.State()
	b.wanted += b.wantedIdle(st)
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

// wantedIdle is the part of the cluster that is idle on reserved nodes though other containers wait that
// fit there, be it that limits keep them waiting.
func (b *lender) wantedIdle(st *state.State) float64 {
	var wanted yarn.Resource
	served := map[uint32]int64{} // containers of asks
	st.Reservations.Each(func(_ uint32, r *state.Reservation) bool {
		n := st.Nodes.Get(r.Node)
		free := n.Unallocated()
		st.Asks.Each(func(slot uint32, k *state.Ask) bool {
			for k.Label == n.Label && (k.App != r.App || k.Key != r.Key) && served[slot] < k.Count && b.planner.Config().Calculator.FitsIn(k.Size, free) {
				free, wanted = free.Sub(k.Size), wanted.Add(k.Size)
				served[slot]++
			}
			return true
		})
		return true
	})
	kinds := st.Kinds()
	return resource(kinds, wanted).DominantShare(resource(kinds, st.Meta.Cluster))
}

// summary is what the run came to. An application that still waits for its AM counts with its wait so
// far.
func (b *lender) summary(s *report.Summary) report.BackfillRun {
	waited := b.waited
	for _, since := range b.masters {
		waited = append(waited, s.EndMillis-since)
	}
	b.out.Summary, b.out.AMMeanMillis = s, report.WaitsOf(waited, len(b.masters)).MeanMillis
	b.out.Wanted = b.wanted * 1000 / float64(max(s.EndMillis, 1))
	return b.out
}
