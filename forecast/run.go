package forecast

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// Ask is what waits: what an application asks for under one key.
type Ask struct {
	App uint32 // its sequence number
	Key yarn.SchedulerKey
}

func (a Ask) compare(b Ask) int {
	return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Key.Priority, b.Key.Priority), cmp.Compare(a.Key.AllocationID, b.Key.AllocationID))
}

// Options say how to forecast.
type Options struct {
	Runs int
	Seed uint64
	// HorizonMillis is how far a forecast looks ahead.
	HorizonMillis int64
	// MaxEnds bounds the time: no run begins that may exceed this number of ends of containers, those
	// of the runs before it included, and the first run stops there.
	MaxEnds int
	// Stop is asked now and then whether to end early; nil: never.
	Stop func() bool
	// Limit is how long a container of an application may run. It is taken for its length, as by
	// schedulers that plan with declared limits. nil: lengths are drawn from the history.
	Limit func(*state.App) int64
	// Before is what the planner is to answer before a run begins: what is supposed. One that it
	// refuses changes nothing.
	Before []input.Input
}

// DefaultOptions are the options for somebody who asks and waits for the answer.
func DefaultOptions() Options {
	return Options{Runs: 15, Seed: 1, HorizonMillis: 7 * 24 * 3600 * 1000, MaxEnds: 100_000}
}

// RefreshOptions are the options for what is forecast now and then, for all that waits: about a tenth
// of a second.
func RefreshOptions() Options {
	o := DefaultOptions()
	o.MaxEnds = 12_000
	return o
}

// Never is the delay of an ask that did not start within the horizon, nor within MaxEnds.
const Never = math.MaxInt64

// Start is when an ask gets its next container.
type Start struct {
	Ask
	// Delays are the milliseconds until then in each run, ascending.
	Delays []int64
	// After counts the runs in which the start followed the end of a container.
	After map[event.ContainerRef]int
}

// Quantile is the delay that a share of the runs, in percent, does not exceed.
func (s *Start) Quantile(percent int) int64 { return s.Delays[(len(s.Delays)-1)*percent/100] }

// Waiting are the asks of a state that wait for containers, in the order of applications.
func Waiting(st *state.State) []Ask {
	var out []Ask
	st.Apps.Each(func(_ uint32, a *state.App) bool {
		for _, k := range st.AsksOf(a) {
			if k.Count+int64(k.Reservations) > 0 && k.IncreaseOf == 0 {
				out = append(out, Ask{a.ID.Seq, k.Key})
			}
		}
		return true
	})
	return out
}

// Run forecasts the starts of asks, in their order, from a time in Unix milliseconds. The state is forked and not changed. When
// options say to stop, fewer runs than wanted are in the answer, or none.
func Run(st *state.State, now int64, asks []Ask, o Options) ([]Start, error) {
	out := make([]Start, len(asks))
	for i, k := range asks {
		out[i] = Start{Ask: k, After: map[event.ContainerRef]int{}}
	}
	left, most := o.MaxEnds, 0
	for n := 0; n < o.Runs && most <= left; n++ {
		r, err := newRun(st.Fork(), now, asks, o, uint64(n))
		if err != nil {
			return nil, err
		}
		ends, stopped := r.play(left)
		if stopped {
			break
		}
		left, most = left-ends, max(most, ends)
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

// run is one course that the cluster may take.
type run struct {
	p        *planner.Planner
	o        Options
	random   *rand.Rand
	began    int64
	now      int64
	ends     ends
	waiting  map[Ask]bool
	started  map[Ask]start
	reserved map[uint64]grant // by the reservation's number
}

type start struct {
	delay int64
	after event.ContainerRef // the container that ended then; zero: none
}

// grant is a container that is allocated, or for which a node is reserved.
type grant struct {
	Ask
	number uint64
	am     bool
}

func newRun(st *state.State, now int64, asks []Ask, o Options, n uint64) (*run, error) {
	p, err := planner.New(st, planner.Options{Eager: true})
	if err != nil {
		return nil, err
	}
	now = max(now, st.Meta.NowMillis)
	r := &run{p: p, o: o, random: rand.New(rand.NewPCG(o.Seed, n)), began: now, now: now,
		waiting: map[Ask]bool{}, started: map[Ask]start{}, reserved: map[uint64]grant{}}
	for _, k := range asks {
		r.waiting[k] = true
	}
	st.Containers.Each(func(_ uint32, c *state.Container) bool {
		if c.OnNode && !c.AM {
			r.willEnd(c, st.Ref(c))
		}
		return true
	})
	st.Reservations.Each(func(_ uint32, v *state.Reservation) bool {
		r.reserved[v.Number] = grant{Ask{st.Apps.Get(v.App).ID.Seq, v.Key}, v.Container, v.AM}
		return true
	})
	return r, nil
}

// play goes on until all that waits has started, nothing more happens, or so many containers have
// ended; it returns how many have.
func (r *run) play(most int) (n int, stopped bool) {
	for _, in := range r.o.Before {
		r.plan(in, event.ContainerRef{})
	}
	r.serveAll()
	for ; len(r.waiting) > 0 && len(r.ends) > 0 && n < most; n++ {
		if n%64 == 0 && r.o.Stop != nil && r.o.Stop() {
			return n, true
		}
		e := heap.Pop(&r.ends).(end)
		if e.at > r.began+r.o.HorizonMillis {
			break
		}
		r.now = e.at
		r.complete(e.container)
	}
	return n, false
}

// serveAll offers all nodes once, as their heartbeats do.
func (r *run) serveAll() {
	var nodes []uint32
	r.p.State().Nodes.Each(func(slot uint32, n *state.Node) bool {
		if n.Serving() {
			nodes = append(nodes, slot)
		}
		return true
	})
	for _, n := range nodes {
		r.plan(&input.NodesHeard{Nodes: []uint32{n}}, event.ContainerRef{})
	}
}

// complete ends a container as its node's report does. An application without anything left ends.
func (r *run) complete(ref event.ContainerRef) {
	st := r.p.State()
	in := Completion(st, ref)
	if in == nil {
		return
	}
	app := st.App(ref.App)
	r.plan(in, ref)
	a := st.Apps.Get(app)
	master := st.Container(event.ContainerRef{App: ref.App, Attempt: a.Attempt, Number: a.MasterNumber})
	if a.AttemptState != state.AttemptRegistered || a.Outstanding > 0 || a.Reserving > 0 || a.Live > 1 || a.Live == 1 && master == 0 {
		return
	}
	r.plan(&input.FinishAttempt{Attempt: a.AttemptID(), Final: yarn.FinalSucceeded}, ref)
	if in := Completion(st, event.ContainerRef{App: ref.App, Attempt: a.Attempt, Number: a.MasterNumber}); in != nil {
		r.plan(in, ref)
	}
}

// Completion is the report by which a node ends a container; nil when no node has it.
func Completion(st *state.State, ref event.ContainerRef) input.Input {
	slot := st.Container(ref)
	if slot == 0 || !st.Containers.Get(slot).OnNode {
		return nil
	}
	c := st.Containers.Get(slot)
	return &input.NodeHeartbeat{ID: st.Nodes.Get(c.Node).ID,
		Statuses: []input.ContainerStatus{{Container: st.ContainerID(c), State: yarn.ContainerCompleted}}}
}

// plan has the planner answer an input at the present time, and follows what it decides. after is
// the container that has ended; zero: none.
func (r *run) plan(in input.Input, after event.ContainerRef) {
	_, events := r.p.Plan(r.now, input.Request{Input: in})
	for _, e := range events {
		switch e := e.(type) {
		case *event.ContainerAllocated:
			r.starts(grant{Ask{e.App, e.Key}, e.Number, e.AM}, after)
		case *event.ContainerLent:
			r.starts(grant{Ask{e.App, e.Key}, e.Number, e.AM}, after)
		case *event.ReservationMade:
			r.reserved[e.Reservation] = grant{Ask{e.App, e.Key}, e.Number, e.AM}
		case *event.ReservationCancelled:
			delete(r.reserved, e.Reservation)
		case *event.ReservationFulfilled:
			r.starts(r.reserved[e.Reservation], after)
			delete(r.reserved, e.Reservation)
		}
	}
}

// starts notes that a container is allocated. What an AM will ask for is not known, so an AM that
// starts here is taken for a container.
func (r *run) starts(g grant, after event.ContainerRef) {
	if r.waiting[g.Ask] {
		delete(r.waiting, g.Ask)
		r.started[g.Ask] = start{r.now - r.began, after}
	}
	st := r.p.State()
	slot := st.App(g.App)
	if slot == 0 {
		return
	}
	ref := event.ContainerRef{App: g.App, Attempt: st.Apps.Get(slot).Attempt, Number: g.number}
	if c := st.Container(ref); c != 0 {
		r.willEnd(st.Containers.Get(c), ref)
	}
}

// willEnd gives a container its end: when its application must end at the latest.
func (r *run) willEnd(c *state.Container, ref event.ContainerRef) {
	st := r.p.State()
	a := st.Apps.Get(c.App)
	at := c.AllocatedMillis + r.length(a, r.now-c.AllocatedMillis)
	if !c.State.Live() {
		at = r.now
	}
	if a.LifetimeMillis > 0 {
		at = min(at, a.SubmittedMillis+a.LifetimeMillis)
	}
	heap.Push(&r.ends, end{max(at, r.now), ref})
}

// length is how long a container of an application runs that has run for so long.
func (r *run) length(a *state.App, age int64) int64 {
	if r.o.Limit != nil {
		return r.o.Limit(a)
	}
	return Draw(r.random, r.p.State().LengthsOf(a), age)
}

// end is when a container ends.
type end struct {
	at        int64
	container event.ContainerRef
}

// ends is a heap of them, the next one first; of equal ones that of the earliest container.
type ends []end

func (h ends) Len() int { return len(h) }
func (h ends) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.at != b.at {
		return a.at < b.at
	}
	if a.container.App != b.container.App {
		return a.container.App < b.container.App
	}
	return a.container.Number < b.container.Number
}
func (h ends) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(v any)   { *h = append(*h, v.(end)) }
func (h *ends) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
