package replay

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"rmd/analysis/rerun"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

const nodeOrderKey = capacity.Prefix + "node-order"

// nodeRun is a row of CompareNodes.
type nodeRun struct {
	name   string
	eager  bool
	phases bool // each node calls at a random phase; otherwise all call in their order
	keys   []capacity.Property
	asksAs *nodeRun // applications ask when they ask in this row, or later if they cannot ask yet
}

// lendingMark marks rows with lendingKeys in the table.
const lendingMark = " +b"

// lendingKeys are the reservations that delay other containers least.
var lendingKeys = []capacity.Property{{Name: earliestKey, Value: "earliest"}, {Name: backfillKey, Value: "declared"}}

// nodeRuns returns the rows: YARN's way, in which the node that calls is served, the default order with
// asks at the times of YARN's way, and each order with the default reservations and with lendingKeys.
//
// Without the third row, waits compare different asks: an application whose AM starts sooner asks
// sooner.
func nodeRuns() []nodeRun {
	random := nodeRun{name: "yarn, random", phases: true}
	all := []nodeRun{{name: "yarn, in order"}, random, {name: "auto, same asks", eager: true, asksAs: &random}}
	for _, order := range capacity.NodeOrders() {
		r := nodeRun{name: order, eager: true, keys: []capacity.Property{{Name: nodeOrderKey, Value: order}}}
		lending := r
		lending.name, lending.keys = r.name+lendingMark, slices.Concat(r.keys, lendingKeys)
		all = append(all, r, lending)
	}
	return all
}

// CompareNodes replays the trace with each rule that chooses the node of a container, with planners
// in virtual time. It has copies of the trace as CompareBackfill has. Equal options give equal
// results. It leaves out jobs with a container that fits no node: it would wait until the end, and
// the length of the run would determine the mean wait.
func CompareNodes(ctx context.Context, o Options) (*report.Nodes, error) {
	rows, out := nodeRuns(), &report.Nodes{Largest: workload.Largest(o.Nodes)}
	out.LeftOut = o.leaveOut()
	all, err := playCopies(ctx, o, len(rows), func(ctx context.Context, i int, o Options) (report.NodeOrderRun, error) {
		return o.choosing(ctx, rows[i])
	})
	for i, r := range rows {
		out.Orders = append(out.Orders, report.NodeOrder{Name: r.name, Copies: all[i]})
	}
	return out, err
}

// leaveOut applies the limit, removes the jobs with a container that fits no node, and returns how
// many these are.
func (o *Options) leaveOut() int {
	t := *o.Trace
	if o.Limit > 0 {
		t.Jobs = t.Jobs[:min(o.Limit, len(t.Jobs))]
	}
	all := len(t.Jobs)
	t.Jobs = slices.DeleteFunc(slices.Clone(t.Jobs), func(j trace.Job) bool {
		return slices.ContainsFunc(j.Tasks, func(g trace.TaskGroup) bool { return !fitsSome(o.Nodes, &g) })
	})
	o.Trace, o.Limit = &t, 0
	return all - len(t.Jobs)
}

// fitsSome reports whether a container of a group fits one of the nodes.
func fitsSome(nodes []trace.Node, g *trace.TaskGroup) bool {
	return slices.ContainsFunc(nodes, func(n trace.Node) bool {
		return g.MemoryMB <= n.MemoryMB && g.VCores <= n.VCores && g.GPUs <= n.GPUs
	})
}

// choosing replays the trace with one row's rule.
func (o Options) choosing(ctx context.Context, row nodeRun) (report.NodeOrderRun, error) {
	if row.asksAs == nil {
		return o.play(ctx, row, nil)
	}
	times := askTimes{}
	if _, err := o.play(ctx, *row.asksAs, times.record); err != nil {
		return report.NodeOrderRun{}, err
	}
	return o.play(ctx, row, times.wait)
}

// play replays the trace with one row's rule, and with askAfter as workload.Config.AskAfter.
func (o Options) play(ctx context.Context, row nodeRun, askAfter askAfter) (report.NodeOrderRun, error) {
	o.Scheduling = "heartbeat"
	if row.eager {
		o.Scheduling = "eager"
	}
	b, c, err := o.lending(row.name, row.keys)
	if err != nil {
		return report.NodeOrderRun{}, err
	}
	m := newNodeMeter(b, o)
	c.Round, c.Advance, c.AskAfter = b.endLeases, m.advance, askAfter
	if row.phases {
		c.Phases = o.phases(c.Heartbeat)
	}
	s, err := m.Simulate(ctx, c, time.Minute)
	if err != nil {
		return report.NodeOrderRun{}, err
	}
	return m.summary(s), nil
}

// askAfter is the type of workload.Config.AskAfter.
type askAfter = func(app, group int, at time.Duration) time.Duration

// askTimes are the times at which applications have asked for the containers of their groups, by
// application and group.
type askTimes map[[2]int]time.Duration

// record records a time, and lets the application ask at once.
func (t askTimes) record(app, group int, at time.Duration) time.Duration {
	t[[2]int{app, group}] = at
	return 0
}

// wait lets the application wait for the recorded time.
func (t askTimes) wait(app, group int, at time.Duration) time.Duration {
	return max(0, t[[2]int{app, group}]-at)
}

// phaseStream separates the random numbers of phases from those of arrivals.
const phaseStream = 1 << 32

// phases returns a random phase of the interval for each node, which differs between copies.
func (o Options) phases(interval time.Duration) []time.Duration {
	rng := rand.New(rand.NewPCG(uint64(o.Seed), phaseStream+uint64(o.number)))
	out := make([]time.Duration, len(o.Nodes))
	for i := range out {
		out[i] = time.Duration(rng.Int64N(int64(interval)))
	}
	return out
}

// nodeMeter measures how containers are distributed over the nodes of a virtual cluster, from when
// a tenth of the applications has arrived until the last one arrives. Before and after, the cluster
// may be nearly idle for much longer: in the openb trace most of the time passes before the first
// hundred applications have arrived, and the last containers run for weeks.
type nodeMeter struct {
	*lender
	from, until time.Duration
	gpu         int // index of GPUs in resources; −1: none
	kinds       []askKind

	current nodeFigures // since the last change of the cluster
	sums    nodeFigures // of current times seconds
	parts   []nodePart  // by slot of the node
}

// nodeFigures are the measured values at one time.
type nodeFigures struct {
	time      float64 // 1
	reserved  float64 // share of the cluster, as the next two
	blocked   float64
	empty     float64 // share of the nodes
	used      float64 // 1 if there are containers, otherwise 0
	variation float64 // of the containers per node; 0 without containers
	free      float64 // number of GPUs
	unusable  float64 // the same
}

func (f *nodeFigures) add(g *nodeFigures, weight float64) {
	f.time += g.time * weight
	f.reserved += g.reserved * weight
	f.blocked += g.blocked * weight
	f.empty += g.empty * weight
	f.used += g.used * weight
	f.variation += g.variation * weight
	f.free += g.free * weight
	f.unusable += g.unusable * weight
}

// askKind is a size of asks for GPUs, and its share of all containers with GPUs.
type askKind struct {
	size  yarn.Resource
	share float64
}

// nodePart is the number of unusable GPUs on a node while so much of it is free.
type nodePart struct {
	free     yarn.Resource
	unusable float64
}

func newNodeMeter(b *lender, o Options) *nodeMeter {
	m := &nodeMeter{lender: b, gpu: b.State().Versions.Kinds().Index(yarn.GPUName)}
	m.changed = true // nothing is measured yet
	jobs := o.Trace.Jobs
	if len(jobs) > 0 {
		m.from, m.until = jobs[len(jobs)/10].Submit, jobs[len(jobs)-1].Submit
	}
	m.kinds = gpuKinds(jobs, m.gpu)
	return m
}

// gpuKinds returns the sizes of the containers with GPUs in the order in which the trace has them.
func gpuKinds(jobs []trace.Job, gpu int) (kinds []askKind) {
	index, all := map[yarn.Resource]int{}, 0.0
	for i := range jobs {
		for _, g := range jobs[i].Tasks {
			if g.GPUs == 0 || gpu < 0 {
				continue
			}
			size := yarn.NewResource(g.MemoryMB, g.VCores)
			size[gpu] = g.GPUs
			k, known := index[size]
			if !known {
				k = len(kinds)
				index[size], kinds = k, append(kinds, askKind{size: size})
			}
			kinds[k].share += float64(g.Count)
			all += float64(g.Count)
		}
	}
	for i := range kinds {
		kinds[i].share /= all
	}
	return kinds
}

// advance moves the clock. The cluster stays as it is until then.
func (m *nodeMeter) advance(to time.Duration) {
	if seconds := (min(to, m.until) - max(m.Elapsed, m.from)).Seconds(); seconds > 0 {
		if m.changed {
			m.changed, m.current = false, m.measure()
		}
		m.sums.add(&m.current, seconds)
	}
	m.Advance(to)
}

// measure returns the values of the cluster as it is.
func (m *nodeMeter) measure() nodeFigures {
	st := m.State()
	kinds := st.Versions.Kinds()
	cluster := rerun.Resource(kinds, st.Meta.Cluster)
	f := nodeFigures{time: 1, blocked: rerun.Resource(kinds, m.blocked(st)).DominantShare(cluster),
		reserved: rerun.Observe(st).ReservedIdle.DominantShare(cluster)}
	var count, squares, nodes float64
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		nodes++
		count += float64(n.Count)
		squares += float64(n.Count) * float64(n.Count)
		if n.Count == 0 {
			f.empty++
		}
		if m.gpu >= 0 {
			free := n.Unallocated()
			f.free += float64(free[m.gpu])
			f.unusable += m.unusable(slot, free)
		}
		return true
	})
	f.empty /= max(nodes, 1)
	if count > 0 {
		mean := count / nodes
		f.used, f.variation = 1, math.Sqrt(max(squares/nodes-mean*mean, 0))/mean
	}
	return f
}

// unusable returns how many of a node's free GPUs an ask for GPUs cannot use, on average over the
// asks of the trace: all of them if the ask does not fit, otherwise none. This is the measure of
// fragmentation of Weng et al., USENIX ATC 2023.
func (m *nodeMeter) unusable(slot state.NodeSlot, free yarn.Resource) float64 {
	for len(m.parts) <= int(slot) {
		m.parts = append(m.parts, nodePart{})
	}
	p := &m.parts[slot]
	if p.free == free {
		return p.unusable
	}
	*p = nodePart{free: free}
	for _, k := range m.kinds {
		if !m.Config().Calculator.FitsIn(k.size, free) {
			p.unusable += k.share * float64(free[m.gpu])
		}
	}
	return p.unusable
}

// blocked returns the resources that are free on nodes without a reservation and that waiting
// containers would fit in, while root's limit refuses them only because reservations count as used.
// It ignores the limits of other queues and of users, which may refuse the containers too.
func (m *nodeMeter) blocked(st *state.State) (blocked yarn.Resource) {
	if st.Reservations.Len() == 0 || m.Config().Queues[0].Backfill != capacity.BackfillOff {
		return blocked // with backfill, root does not count reservations
	}
	calc := m.Config().Calculator
	room, reserved := st.Meta.Cluster, map[state.AppSlot]yarn.Resource{} // by application
	free := map[state.NodeSlot]yarn.Resource{}
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		room = room.Sub(n.Allocated)
		if n.Reservation == 0 && n.TakesContainers() {
			free[slot] = n.Unallocated()
		}
		return true
	})
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		room = room.Sub(r.Size)
		reserved[r.App] = reserved[r.App].Add(r.Size)
		return true
	})
	st.Asks.Each(func(slot state.AskSlot, k *state.Ask) bool {
		// An application may give up its own reservations.
		if k.IncreaseOf != 0 || !st.Apps.Get(k.App).Activated() || calc.FitsIn(k.Size, room.Add(reserved[k.App])) {
			return true
		}
		left := k.Count
		st.Nodes.Each(func(node state.NodeSlot, _ *state.Node) bool {
			for ; left > 0 && calc.FitsIn(k.Size, free[node]) && m.Scheduler().MayUse(slot, node); left-- {
				free[node], blocked = free[node].Sub(k.Size), blocked.Add(k.Size)
			}
			return left > 0
		})
		return true
	})
	return blocked
}

// summary returns the result of the run.
// appMean returns the mean time from submission to end in milliseconds. An application that has not
// ended counts with its time so far.
func (m *nodeMeter) appMean(endMillis int64) float64 {
	took := slices.Clone(m.took)
	for _, since := range m.begun {
		took = append(took, endMillis-since)
	}
	return report.WaitsOf(took, len(m.begun)).MeanMillis
}

func (m *nodeMeter) summary(s *report.Summary) report.NodeOrderRun {
	f := &m.sums
	share := func(part, whole float64) float64 { return part / max(whole, 1e-9) }
	out := report.NodeOrderRun{Large: s.Large, Small: s.Small, AMs: m.masterWaits(s.EndMillis), EndMillis: s.EndMillis,
		StartMillis: report.WaitsOf(m.starts, 0).MeanMillis, AppMillis: m.appMean(s.EndMillis),
		ReservedIdle: share(f.reserved, f.time), Blocked: share(f.blocked, f.time), Empty: share(f.empty, f.time),
		Variation: share(f.variation, f.used)}
	if len(m.kinds) > 0 && f.free > 0 {
		unusable := f.unusable / f.free
		out.Unusable = &unusable
	}
	return out
}
