package forecaster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"rmd/analysis/forecast"
	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/yarn"
)

const (
	afterMax  = 5 // the most containers and queues in an answer
	queuesMax = 3 // the most other queues that are tried
	// suppositionsMax is the most changes that are tried.
	suppositionsMax = 2 + queuesMax
	// A change is reported only if it shortens the wait by at least these amounts.
	soonerPercent, soonerMillis = 10, 1000
)

// question is for the starts of the containers for which an application waits. It has its own copy
// of the state.
type question struct {
	st       *state.State
	now      int64 // Unix milliseconds
	interval func(now, delay int64) (from, median, to int64)
	recorded bool // the interval is based on the record
	// maxPriority is the cluster's maximum priority. Higher priorities are reduced to it.
	maxPriority int32
	explain     func(*state.State, yarn.ApplicationID) (*api.Explanation, error)
	options     forecast.Options
}

// of returns the forecast for the containers for which an application waits.
func (f *question) of(ctx context.Context, id yarn.ApplicationID) (*api.Forecast, error) {
	d := &api.Forecast{ID: id.String(), AtMillis: f.now, Asks: []api.ForecastAsk{}}
	slot := f.st.Apps.ByID(id)
	if slot == 0 {
		return d, nil
	}
	asks := slices.DeleteFunc(forecast.Waiting(f.st), func(k forecast.Ask) bool { return k.App != id.Seq })
	x, err := f.explain(f.st, id)
	if err != nil {
		return nil, err
	}
	if len(asks) == 0 {
		if x.Waiting {
			d.Waits = x.Text
		}
		return d, nil
	}
	f.options.Stop = func() bool { return ctx.Err() != nil }
	starts, err := forecast.Run(f.st, f.now, asks, f.options)
	if err != nil {
		return nil, err
	}
	for i := range starts {
		ask := f.st.Asks.Get(f.st.Asks.Find(f.st.Apps.Get(slot), asks[i].Key))
		out := f.ask(ask, &starts[i])
		for _, k := range x.Asks {
			if k.Never && k.Priority == out.Priority && k.AllocationID == out.AllocationID {
				out.Never = k.Text
			}
		}
		d.Asks, d.Runs = append(d.Asks, out), len(starts[i].Delays)
	}
	return d, f.suppose(d, slot, starts)
}

func (f *question) ask(ask *state.Ask, s *forecast.Start) api.ForecastAsk {
	out := api.ForecastAsk{Priority: ask.Key.Priority, AllocationID: ask.Key.AllocationID,
		Size: f.st.Versions.Kinds().Format(ask.Size), Count: ask.Count}
	if f.st.Meta.UsableNodes > 0 && !anyHolds(f.st, ask.Size) {
		out.Never = "no node is as large"
		return out
	}
	for _, delay := range s.Delays {
		if delay != forecast.Never {
			out.Started++
		}
	}
	if len(s.Delays) == 0 || out.Started == 0 {
		return out
	}
	f.times(&out, s)
	out.After, out.Queues = f.mostAfter(s), f.queuesAfter(s)
	return out
}

// times sets the median and the interval.
func (f *question) times(out *api.ForecastAsk, s *forecast.Start) {
	from, median, to := s.Quantile(5), s.Quantile(50), s.Quantile(95)
	if out.Recorded = f.recorded && median != forecast.Never; out.Recorded {
		from, median, to = f.interval(f.now, median)
	}
	at := func(delay int64) int64 {
		if delay == forecast.Never {
			return 0
		}
		return f.now + delay
	}
	out.FromMillis, out.MedianMillis, out.ToMillis = at(from), at(median), at(to)
}

// anyHolds reports whether a container of this size fits on some node that is empty, or may fit on one
// that returns.
func anyHolds(st *state.State, size yarn.Resource) (holds bool) {
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		holds = n.Serving() && size.Within(n.Total) || scheduler.MayReturn(n)
		return !holds
	})
	return holds
}

// mostAfter returns the containers after whose end the start most often follows. Containers that do
// not run yet are combined by application.
func (f *question) mostAfter(s *forecast.Start) []api.ForecastAfter {
	runs := map[api.ForecastAfter]int{}
	for ref, n := range s.After { // the order does not matter: they are summed and sorted
		a := f.st.Apps.Get(f.st.Apps.Find(ref.App))
		after := api.ForecastAfter{ID: a.ID.String(), Queue: f.st.Queues.Get(a.Queue).Path}
		if c := f.st.Container(ref); c != 0 {
			k := f.st.Containers.Get(c)
			after.Container, after.Node = f.st.Apps.ContainerID(k).String(), f.st.Nodes.Get(k.Node).ID.String()
		}
		runs[after] += n
	}
	var out []api.ForecastAfter
	for after, n := range runs { // the order does not matter: they are sorted
		after.Runs = n
		out = append(out, after)
	}
	slices.SortFunc(out, func(a, b api.ForecastAfter) int {
		return cmp.Or(b.Runs-a.Runs, cmp.Compare(a.Container, b.Container), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(len(out), afterMax)]
}

func (f *question) queuesAfter(s *forecast.Start) []api.ForecastQueue {
	runs := map[string]int{}
	for ref, n := range s.After { // the order does not matter: they are summed and sorted
		runs[f.st.Queues.Get(f.st.Apps.Get(f.st.Apps.Find(ref.App)).Queue).Path] += n
	}
	var out []api.ForecastQueue
	for path, n := range runs { // the order does not matter: they are sorted
		out = append(out, api.ForecastQueue{Path: path, Runs: n})
	}
	slices.SortFunc(out, func(a, b api.ForecastQueue) int { return cmp.Or(b.Runs-a.Runs, cmp.Compare(a.Path, b.Path)) })
	return out[:min(len(out), afterMax)]
}

// supposition is a change that an operator can make.
type supposition struct {
	text string
	in   input.Input
}

// suppose adds the changes that would let the first ask with a forecast start sooner.
func (f *question) suppose(d *api.Forecast, slot state.AppSlot, starts []forecast.Start) error {
	i := slices.IndexFunc(d.Asks, func(k api.ForecastAsk) bool { return k.Never == "" && k.Started > 0 })
	if i < 0 {
		return nil
	}
	usual := starts[i].Quantile(50)
	for _, s := range f.suppositions(f.st.Apps.Get(slot), &starts[i]) {
		if f.options.Enough != nil && f.options.Enough() {
			return nil
		}
		o := f.options
		o.Before, o.EnoughEnds = []input.Input{s.in}, o.EnoughEnds/suppositionsMax
		other, err := forecast.Run(f.st, f.now, []forecast.Ask{starts[i].Ask}, o)
		if err != nil {
			return err
		}
		if len(other[0].Delays) == 0 {
			return nil // out of time
		}
		delay := other[0].Quantile(50)
		if delay == forecast.Never || delay > usual-usual/100*soonerPercent || delay > usual-soonerMillis {
			continue
		}
		out := api.ForecastAsk{}
		f.times(&out, &other[0])
		d.Asks[i].Sooner = append(d.Asks[i].Sooner, api.ForecastSooner{If: s.text, MedianMillis: out.MedianMillis})
	}
	slices.SortStableFunc(d.Asks[i].Sooner, func(a,
		b api.ForecastSooner) int {
		return cmp.Compare(a.MedianMillis, b.MedianMillis)
	})
	return nil
}

// suppositions returns the changes to try: the end of the application for which this one waits most
// often, a higher priority, and other queues.
func (f *question) suppositions(a *state.App, s *forecast.Start) (out []supposition) {
	ends := map[event.ContainerRef]int{}
	for ref, n := range s.After { // the order does not matter: they are summed
		ends[event.ContainerRef{App: ref.App}] += n
	}
	var most uint32
	for ref, n := range ends { // the order does not matter: of equal ones, the lowest id wins
		if k := ends[event.ContainerRef{App: most}]; ref.App != a.ID.Seq && (n > k || n == k && ref.App < most) {
			most = ref.App
		}
	}
	if most != 0 {
		id := f.st.Apps.Get(f.st.Apps.Find(most)).ID
		out = append(out, supposition{id.String() + " ended now", &input.KillApplication{ID: id}})
	}
	if above, ok := f.priorityAbove(a); ok {
		out = append(out, supposition{fmt.Sprintf("its priority was %d", above),
			&input.SetPriority{ID: a.ID, Priority: above}})
	}
	for _, q := range f.otherQueues(a) {
		out = append(out, supposition{"it was in " + q, &input.MoveApplication{ID: a.ID, Queue: q}})
	}
	return out
}

// priorityAbove returns one more than the highest priority of the other waiting applications in the
// queue, at most the cluster's maximum. ok is false if the application already has that priority or
// a higher one.
func (f *question) priorityAbove(a *state.App) (above int32, ok bool) {
	highest := int32(-1)
	f.st.Apps.Each(func(_ state.AppSlot, b *state.App) bool {
		if b.ID != a.ID && b.Queue == a.Queue && !b.State.Ended() && b.Outstanding > 0 {
			highest = max(highest, b.Priority)
		}
		return true
	})
	if highest < a.Priority || f.maxPriority <= a.Priority {
		return 0, false
	}
	return min(highest, f.maxPriority-1) + 1, true
}

// otherQueues returns the leaf queues in which the least memory is used.
func (f *question) otherQueues(a *state.App) []string {
	var leaves []*state.Queue
	f.st.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		if slot != a.Queue && q.Leaf {
			leaves = append(leaves, q)
		}
		return true
	})
	slices.SortFunc(leaves, func(a, b *state.Queue) int {
		return cmp.Or(cmp.Compare(a.Used[yarn.Memory], b.Used[yarn.Memory]), cmp.Compare(a.Path, b.Path))
	})
	var out []string
	for _, q := range leaves[:min(len(leaves), queuesMax)] {
		out = append(out, q.Path)
	}
	return out
}
