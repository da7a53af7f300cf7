package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"rmd/analysis/runner"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Ask identifies an ask of an application.
type Ask struct {
	App uint32 // sequence number of the application
	Key yarn.SchedulerKey
}

func (a Ask) compare(b Ask) int {
	return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Key.Priority, b.Key.Priority),
		cmp.Compare(a.Key.AllocationID, b.Key.AllocationID))
}

// Options are the options of Run.
type Options struct {
	Runs int
	Seed uint64
	// HorizonMillis is how far a forecast looks ahead.
	HorizonMillis int64
	// MaxEnds and EnoughEnds bound the duration. MaxEnds is the largest number of container ends in
	// a run. After the first run, no run begins with which all runs together might have more than
	// EnoughEnds.
	MaxEnds, EnoughEnds int
	// Enough, if not nil, reports that no further run should begin after the first. With it, equal
	// states may give different forecasts.
	Enough func() bool
	// Stop is called regularly and reports whether to end early; nil: never.
	Stop func() bool
	// Limit returns how long a container of an application may run. Run takes this for its length,
	// like schedulers that plan with declared limits. If Limit is nil, lengths are drawn from the
	// history.
	Limit func(*state.App) int64
	// Before has inputs that the planner processes before each run begins, as assumptions. An input
	// that the planner refuses changes nothing.
	Before []input.Input
}

// DefaultOptions returns the options for a caller who waits for the answer.
func DefaultOptions() Options {
	return Options{Runs: 15, Seed: 1, HorizonMillis: 7 * 24 * 3600 * 1000, MaxEnds: 100_000, EnoughEnds: 6_000}
}

// RefreshOptions returns the options for regular forecasts for all waiting asks.
func RefreshOptions() Options {
	o := DefaultOptions()
	o.EnoughEnds = 12_000
	return o
}

// Never is the delay of an ask that did not start within the horizon or within MaxEnds.
const Never = math.MaxInt64

// Start is when an ask gets its next container.
type Start struct {
	Ask
	// Delays has the milliseconds until the start in each run, ascending.
	Delays []int64
	// After counts, by container, the runs in which the start followed the end of this container.
	After map[event.ContainerRef]int
}

// Quantile returns the delay that the given percentage of the runs does not exceed.
func (s *Start) Quantile(percent int) int64 { return s.Delays[(len(s.Delays)-1)*percent/100] }

// Waiting returns the asks of a state that wait for containers, in the order of applications.
func Waiting(st *state.State) []Ask {
	var out []Ask
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		for _, k := range st.Asks.Of(a) {
			if k.Count+int64(k.Reservations) > 0 && k.IncreaseOf == 0 {
				out = append(out, Ask{a.ID.Seq, k.Key})
			}
		}
		return true
	})
	return out
}

// Run forecasts the starts of asks, in the given order, from a time in Unix milliseconds. It does
// not change st. If Options.Stop ends it early, the result has fewer runs, or none.
func Run(st *state.State, now int64, asks []Ask, o Options) ([]Start, error) {
	out := make([]Start, len(asks))
	if len(asks) == 0 {
		return out, nil
	}
	for i, k := range asks {
		out[i] = Start{Ask: k, After: map[event.ContainerRef]int{}}
	}
	f, err := newFuture(st, now, asks, o)
	if err != nil {
		return nil, err
	}
	all, most := 0, 0
	for n := 0; n < o.Runs && (n == 0 || all+most <= o.EnoughEnds && (o.Enough == nil || !o.Enough())); n++ {
		r := f.newRun(uint64(n))
		ends, stopped := r.play()
		if stopped {
			break
		}
		all, most = all+ends, max(most, ends)
		for i := range out {
			at, ok := r.started[asks[i]]
			if !ok {
				out[i].Delays = append(out[i].Delays, Never)
				continue
			}
			out[i].Delays = append(out[i].Delays, at.delay)
			if at.after.App != 0 {
				out[i].After[at.after]++
			}
		}
	}
	for i := range out {
		slices.Sort(out[i].Delays)
	}
	return out, nil
}

// future is what all runs of a forecast share.
type future struct {
	base    *runner.Runner // from which the runs begin
	options Options
	asks    []Ask
	demands *demands // nil: AMs ask for nothing
}

func newFuture(st *state.State, now int64, asks []Ask, o Options) (*future, error) {
	base, err := runner.New(st.Fork(), true)
	if err != nil {
		return nil, err
	}
	base.Now = max(now, base.Now)
	f := &future{base: base, options: o, asks: asks}
	if o.Limit == nil {
		f.demands = newDemands(st)
	}
	return f, nil
}

// run is one possible future of the cluster.
type run struct {
	*future
	*runner.Runner
	random  *rand.Rand
	after   event.ContainerRef // the container that has ended last by what the planner handles; zero: none
	waiting map[Ask]bool
	limited bool // some wait for their AM because of a limit
	started map[Ask]start
	granted []state.AppSlot // slots of applications whose AMs may have something to send
	lost    []lostContainer
	// nextRound is the time of the next round of preemption, in Unix milliseconds.
	nextRound int64
}

type start struct {
	delay int64
	after event.ContainerRef // the container whose end it followed; zero: none
}

func (f *future) newRun(n uint64) *run {
	r := &run{future: f, Runner: f.base.Fork(), random: rand.New(rand.NewPCG(f.options.Seed, n)), waiting: map[Ask]bool{},
		started: map[Ask]start{}}
	r.After, r.nextRound = r.follow, r.Now+r.Config().Preemption.IntervalMillis
	st := r.State()
	for _, k := range f.asks {
		r.waiting[k] = true
		slot := st.Apps.Find(k.App)
		r.limited = r.limited || slot != 0 && !st.Apps.Get(slot).Activated()
	}
	st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		if c.OnNode && (!c.AM || idle(st, st.Apps.Get(c.App))) {
			r.willEnd(c, st.Apps.Ref(c))
		}
		if c.OnNode && c.GrantedIn == 0 {
			r.granted = append(r.granted, c.App)
		}
		return true
	})
	return r
}

// play runs until all asks have started, nothing more happens, the horizon is reached, or MaxEnds
// containers have ended. It returns the number of containers that have ended, and whether Stop
// ended the run.
func (r *run) play() (n int, stopped bool) {
	r.plan(r.fetch(), event.ContainerRef{})
	for _, in := range r.options.Before {
		r.plan(in, event.ContainerRef{})
	}
	r.serveAll()
	horizon := r.Now + r.options.HorizonMillis
	for steps := 0; len(r.waiting) > 0 && min(r.NextTimer(), r.nextRound) <= horizon && n < r.options.MaxEnds; steps++ {
		if steps%64 == 0 && r.options.Stop != nil && r.options.Stop() {
			return n, true
		}
		if r.nextRound <= r.NextTimer() {
			r.runRound()
			continue
		}
		n++
		end := r.PopTimer()
		r.Now = end.At
		r.complete(end.Of)
		if r.limited && r.Scheduler().MayStart() { // the leader sees it within a second
			r.plan(&input.Tick{}, end.Of)
		}
	}
	return n, false
}

// serveAll offers the nodes that have room for one of the asks, as their heartbeats would.
func (r *run) serveAll() {
	st := r.State()
	least := leastAsked(st)
	var nodes []state.NodeSlot
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if n.TakesContainers() && (n.Reservation != 0 || least.Within(n.Unallocated())) {
			nodes = append(nodes, slot)
		}
		return true
	})
	for _, n := range nodes {
		r.plan(&input.NodesHeard{Nodes: []state.NodeSlot{n}}, event.ContainerRef{})
	}
}

// leastAsked returns the least of each resource that a waiting ask wants.
func leastAsked(st *state.State) yarn.Resource {
	var least yarn.Resource
	for i := range least {
		least[i] = math.MaxInt64
	}
	st.Asks.Each(func(_ state.AskSlot, k *state.Ask) bool {
		if k.Count > 0 {
			least = yarn.ComponentMin(least, k.Size)
		}
		return true
	})
	return least
}

// complete ends a container as its node's report would. If the application then has nothing left
// but its AM, complete ends the application too.
func (r *run) complete(ref event.ContainerRef) {
	st := r.State()
	slot := st.Container(ref)
	if slot == 0 {
		return
	}
	if !st.Containers.Get(slot).AM {
		r.plan(runner.Completion(st, ref), ref)
	}
	if app := st.Apps.Find(ref.App); app != 0 && idle(st, st.Apps.Get(app)) {
		r.finish(app, ref)
	}
}

// idle reports whether an application has nothing but its AM and asks for nothing. Its AM will end
// without asking for more, as far as anybody knows.
func idle(st *state.State, a *state.App) bool {
	live := a.Live
	if st.Container(amOf(a)) != 0 {
		live--
	}
	return a.Activated() && a.Outstanding == 0 && a.Reserving == 0 && live <= 0
}

// amOf returns the AM's container of the current attempt.
func amOf(a *state.App) event.ContainerRef {
	return event.ContainerRef{App: a.ID.Seq, Attempt: a.Attempt, Number: a.MasterNumber}
}

// finish ends an application and its AM. An AM that has not registered yet does so first: an AM
// that ends unregistered would be started again.
func (r *run) finish(app state.AppSlot, after event.ContainerRef) {
	st := r.State()
	a := st.Apps.Get(app)
	attempt, am := a.AttemptID(), amOf(a)
	if a.AttemptState != state.AttemptRegistered {
		r.plan(&input.RegisterAttempt{Attempt: attempt}, after)
	}
	r.plan(&input.FinishAttempt{Attempt: attempt, Final: yarn.FinalSucceeded}, after)
	r.plan(runner.Completion(st, am), after)
}

// plan lets the planner process an input and what AMs then have to send. after is the container that
// has ended, or zero. Without an input it does nothing.
func (r *run) plan(in input.Input, after event.ContainerRef) {
	for r.after = after; in != nil; in = r.fetch() {
		r.Plan(in)
	}
}

// follow follows what the planner has started.
func (r *run) follow(input.Input, input.Reply, []event.Event) {
	for _, c := range r.Changes() {
		switch {
		case c.Kind == change.ContainerStarted:
			r.starts(Ask{c.Ref.App, c.Key}, c.Ref)
		case c.Kind == change.ContainerEnded && c.Exit == yarn.ExitPreempted:
			r.preempted(&c)
		}
	}
}

// starts records that a container has started.
func (r *run) starts(ask Ask, ref event.ContainerRef) {
	if r.waiting[ask] {
		delete(r.waiting, ask)
		r.started[ask] = start{r.Now - r.base.Now, r.after}
	}
	st := r.State()
	if slot := st.Container(ref); slot != 0 {
		c := st.Containers.Get(slot)
		r.willEnd(c, ref)
		r.granted = append(r.granted, c.App)
	}
}

// fetch returns the next input of an AM that has one to send, or nil. An AM that has started
// registers and asks as others did; nobody knows for what it will really ask. The others fetch their
// new containers: the end of a container that was not fetched would put its ask back into the line. Those
// that have lost containers to preemption ask for them again.
func (r *run) fetch() input.Input {
	if in := r.fetchLost(); in != nil {
		return in
	}
	st := r.State()
	for len(r.granted) > 0 {
		last := len(r.granted) - 1
		a := st.Apps.Get(r.granted[last])
		if r.demands != nil && a.AttemptState == state.AttemptActive && a.MasterNumber != 0 {
			return &input.RegisterAttempt{Attempt: a.AttemptID()}
		}
		r.granted = r.granted[:last]
		switch {
		case a.AttemptState != state.AttemptRegistered:
		case a.Undelivered != 0:
			return &input.Allocate{Attempt: a.AttemptID(), Response: a.Response}
		case r.demands != nil && idle(st, a) && a.NextNumber == a.MasterNumber:
			if k, ok := r.demands.draw(r.random, st, a); ok {
				return &input.Allocate{Attempt: a.AttemptID(), Response: a.Response, Asks: []input.Ask{k}}
			}
		}
	}
	return nil
}

// willEnd draws the end of a container, not after the end of its application's lifetime. The end of
// an AM counts only if the application has nothing else then; see complete.
func (r *run) willEnd(c *state.Container, ref event.ContainerRef) {
	a := r.State().Apps.Get(c.App)
	at := c.AllocatedMillis + r.length(a, r.Now-c.AllocatedMillis)
	if !c.State.Live() {
		at = r.Now
	}
	if a.LifetimeMillis > 0 {
		at = min(at, a.SubmittedMillis+a.LifetimeMillis)
	}
	r.SetTimer(max(at, r.Now), ref)
}

// length returns how long a container runs in total if it has already run for age.
func (r *run) length(a *state.App, age int64) int64 {
	if r.options.Limit != nil {
		return r.options.Limit(a)
	}
	return Draw(r.random, r.State().LengthsOf(a), age)
}
