package forecast

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/growth"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

var key = yarn.SchedulerKey{Priority: 1}

// cluster is a planner with one node of 16 GiB.
type cluster struct {
	t   testing.TB
	p   *planner.Planner
	now int64
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, p: p, now: 1_000_000}
	in := &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Entropy: make([]byte, 1024)}
	for _, q := range append(preset.QueuesFor([]string{"root.a"}),
		capacity.Property{Name: "yarn.scheduler.capacity.root.a.user-limit-factor", Value: "10"},
		capacity.Property{Name: "yarn.scheduler.maximum-allocation-mb", Value: "16384"}) {
		in.Properties = append(in.Properties, input.Property(q))
	}
	c.do(in)
	c.do(&input.RegisterNode{ID: yarn.NodeID{Host: "n1", Port: 1}, Rack: "/r", Total: yarn.NewResource(16384, 16)})
	return c
}

func (c *cluster) do(in input.Input) input.Reply {
	c.t.Helper()
	reply, _ := c.p.Plan(c.now, input.Request{Input: in})
	if f := reply.Refused(); f != nil {
		c.t.Fatalf("%T: %v", in, f)
	}
	return reply
}

// app submits an application that asks for containers, and receives those that it gets.
func (c *cluster) app(queue string, count, memory, lifetime int64) yarn.AttemptID {
	c.t.Helper()
	id := yarn.AttemptID{App: c.do(&input.SubmitApplication{User: "u", Name: "job", Queue: queue, Unmanaged: true,
		LifetimeMillis: lifetime}).(*input.SubmitApplicationReply).ID, Attempt: 1}
	c.do(&input.RegisterAttempt{Attempt: id})
	c.do(&input.Allocate{Attempt: id, Asks: []input.Ask{
		{Key: key, Name: yarn.Any, Count: count, Size: yarn.NewResource(memory, 1), Relax: true}}})
	c.take(id)
	return id
}

func (c *cluster) take(id yarn.AttemptID) {
	c.t.Helper()
	st := c.p.State()
	c.do(&input.Allocate{Attempt: id, Response: st.Apps.Get(st.Apps.ByID(id.App)).Response})
}

// running returns the newest container on the node.
func (c *cluster) running() event.ContainerRef {
	st := c.p.State()
	return st.Apps.Ref(st.Containers.Get(st.Nodes.Get(1).Containers))
}

// end ends the newest container on the node.
func (c *cluster) end() {
	c.t.Helper()
	n := c.p.State().Nodes.Get(1)
	k := c.p.State().Containers.Get(n.Containers)
	c.do(&input.NodeHeartbeat{ID: n.ID, Statuses: []input.ContainerStatus{
		{Container: c.p.State().Apps.ContainerID(k), State: yarn.ContainerCompleted}}})
}

// TestRun checks that a waiting ask starts when the running container ends, after a length like
// those before. Run must not change the state, and the same seed must give the same result.
func TestRun(t *testing.T) {
	c := newCluster(t)
	first := c.app("root.a", 20, 16384, 0)
	for range 19 {
		c.now += 60_000
		c.end()
		c.take(first)
	}
	c.now += 30_000
	waits := c.app("root.a", 1, 16384, 0)
	st := c.p.State()
	asks := Waiting(st)
	if len(asks) != 1 || asks[0] != (Ask{waits.App.Seq, key}) {
		t.Fatalf("%+v wait", asks)
	}
	digest := st.Digest()
	got, err := Run(st, c.now, asks, DefaultOptions())
	if err != nil || len(got) != 1 || len(got[0].Delays) != 15 {
		t.Fatalf("Run = %+v, %v; want one start with 15 delays", got, err)
	}
	// 60 s is in the bucket from 51.2 s to 76.8 s, and 30 s have passed.
	if low, high := got[0].Quantile(0), got[0].Quantile(100); low < 21_000 || high > 47_000 || low == high {
		t.Errorf("it starts after %d to %d ms", low, high)
	}
	if ends := got[0].After; len(ends) != 1 || ends[c.running()] != 15 {
		t.Errorf("the starts follow the ends of %+v, not of %+v", ends, c.running())
	}
	again, err := Run(st, c.now, asks, DefaultOptions())
	if err != nil || !reflect.DeepEqual(got, again) || st.Digest() != digest {
		t.Errorf("once more: %+v, %v", again, err)
	}
	o := DefaultOptions()
	o.HorizonMillis = 10_000
	if short, err := Run(st, c.now, asks, o); err != nil || short[0].Quantile(50) != Never {
		t.Errorf("within 10 s: %+v, %v", short, err)
	}
	o = DefaultOptions()
	o.MaxEnds = 0
	if few, err := Run(st, c.now, asks, o); err != nil || len(few[0].Delays) != 15 || few[0].Quantile(0) != Never {
		t.Errorf("without an end: %+v, %v", few, err)
	}
	o.MaxEnds, o.EnoughEnds = 100, 3
	if few, err := Run(st, c.now, asks, o); err != nil || len(few[0].Delays) != 3 || few[0].Quantile(100) == Never {
		t.Errorf("with 3 ends: %+v, %v", few, err)
	}
	o = DefaultOptions()
	o.Before = []input.Input{&input.KillApplication{ID: first.App}}
	if now, err := Run(st, c.now, asks, o); err != nil || now[0].Quantile(100) > 1000 {
		t.Errorf("if the first application was killed: %+v, %v", now, err)
	}
	o = DefaultOptions()
	o.Stop = func() bool { return true }
	if none, err := Run(st, c.now, asks, o); err != nil || len(none[0].Delays) != 0 {
		t.Errorf("stopped: %+v, %v", none, err)
	}
}

// TestRunDeepLine checks that asks deep in a line are forecast: in each run, the line before them is
// served, each ask once. The first application has containers that its AM has not fetched yet.
func TestRunDeepLine(t *testing.T) {
	c := newCluster(t)
	c.app("root.a", 17, 1024, 0)
	c.end() // one more starts, and is not fetched
	for range 501 {
		c.app("root.a", 3, 1024, 0)
	}
	st := c.p.State()
	asks := Waiting(st)
	got, err := Run(st, c.now, asks, DefaultOptions())
	if err != nil || len(got) != 501 {
		t.Fatalf("%d starts, %v", len(got), err)
	}
	for _, place := range []int{2, 25, 500} {
		if s := got[place]; len(s.Delays) == 0 || s.Quantile(100) == Never {
			t.Errorf("place %d of the line: no start in some of the runs %v", place, s.Delays)
		}
	}
	if near, far := got[25].Quantile(50), got[500].Quantile(50); near >= far {
		t.Errorf("place 25 starts after %d ms, place 500 after %d ms", near, far)
	}
}

// TestRunEndsAMs checks that an application ends with its AM when all its containers have ended, so
// that the next one in the line may start its AM. An AM that has not registered ends, too, and is
// not started a second time.
func TestRunEndsAMs(t *testing.T) {
	c := newCluster(t)
	submit := func() yarn.AttemptID {
		return yarn.AttemptID{App: c.do(&input.SubmitApplication{User: "u", Queue: "root.a",
			AM: yarn.NewResource(16384, 1)}).(*input.SubmitApplicationReply).ID, Attempt: 1}
	}
	id := submit()
	for range 5 {
		submit()
	}
	for name, prepare := range map[string]func(){"unregistered": func() {}, "registered": func() {
		c.do(&input.RegisterAttempt{Attempt: id})
	}} {
		prepare()
		st := c.p.State()
		asks := Waiting(st)
		got, err := Run(st, c.now, asks, DefaultOptions())
		if err != nil || len(asks) != 5 {
			t.Fatalf("%s: %d asks, %v", name, len(asks), err)
		}
		for i, s := range got {
			if len(s.Delays) == 0 || s.Quantile(100) == Never {
				t.Errorf("%s: AM %d starts after %v ms", name, i+2, s.Delays)
			}
		}
	}
}

// TestRunDemands checks that an AM that starts in a run asks for as much as applications like it
// did, so that what waits behind it starts after all its containers.
func TestRunDemands(t *testing.T) {
	c := newCluster(t)
	submit := func() yarn.AttemptID {
		in := &input.SubmitApplication{User: "u", Name: "job", Queue: "root.a", AM: yarn.NewResource(1024, 1)}
		return yarn.AttemptID{App: c.do(in).(*input.SubmitApplicationReply).ID, Attempt: 1}
	}
	for range 12 { // each has four containers of 15 GiB, a minute long, one after the other
		id := submit()
		c.do(&input.RegisterAttempt{Attempt: id})
		c.do(&input.Allocate{Attempt: id, Asks: []input.Ask{
			{Key: key, Name: yarn.Any, Count: 4, Size: yarn.NewResource(15360, 1), Relax: true}}})
		for range 4 {
			c.take(id)
			c.now += 60_000
			c.end()
		}
		c.do(&input.FinishAttempt{Attempt: id, Final: yarn.FinalSucceeded})
		c.end()
	}
	st := c.p.State()
	if got, ok := demandOf(st, st.Apps.Get(1)); !ok || got.count != 4 || got.size[yarn.Memory] < 12_000 ||
		got.size[yarn.Memory] > 18_000 {
		t.Errorf("application 1 asked for %+v, %v; want 4 of about 15360 MiB", got, ok)
	}
	c.app("root.a", 1, 16384, 1) // ends at once in a run
	submit()
	c.app("root.a", 1, 16384, 0)
	asks := Waiting(st)
	got, err := Run(st, c.now, asks[1:], DefaultOptions())
	if err != nil || len(asks) != 2 || got[0].Quantile(50) < 180_000 || got[0].Quantile(100) == Never {
		t.Errorf("Run of %+v = %+v, %v; want a start after four containers of a minute", asks, got, err)
	}
}

// TestRunWithLifetime checks that a container ends with its application's lifetime at the latest.
func TestRunWithLifetime(t *testing.T) {
	c := newCluster(t)
	c.app("root.a", 1, 16384, 5_000)
	c.app("root.a", 1, 16384, 0)
	got, err := Run(c.p.State(), c.now, Waiting(c.p.State()), DefaultOptions())
	if err != nil || len(got) == 0 || got[0].Quantile(100) > 5_000 {
		t.Errorf("Run = %+v, %v; want delays up to the lifetime, 5000 ms, for the first", got, err)
	}
}

// TestRunLiftsLimits checks that an application that waits for its share of AMs starts when another
// queue uses less.
func TestRunLiftsLimits(t *testing.T) {
	c := newCluster(t)
	set := &input.SetQueues{}
	for _, q := range append(preset.QueuesFor([]string{"root.a", "root.b"}),
		capacity.Property{Name: "yarn.scheduler.capacity.root.b.user-limit-factor", Value: "10"},
		capacity.Property{Name: "yarn.scheduler.capacity.root.a.user-limit-factor", Value: "10"},
		capacity.Property{Name: "yarn.scheduler.maximum-allocation-mb", Value: "16384"},
		capacity.Property{Name: "yarn.scheduler.capacity.maximum-am-resource-percent", Value: "0.25"}) {
		set.Properties = append(set.Properties, input.Property(q))
	}
	c.do(set)
	c.app("root.a", 1, 12288, 0)
	for range 2 {
		c.do(&input.SubmitApplication{User: "u", Queue: "root.b", AM: yarn.NewResource(2048, 1)})
	}
	asks := Waiting(c.p.State())
	got, err := Run(c.p.State(), c.now, asks, DefaultOptions())
	if err != nil || len(asks) != 1 || asks[0].App != 3 || got[0].Quantile(100) == Never {
		t.Errorf("Run of %+v = %+v, %v; want a start of the AM of application 3 in each run", asks, got, err)
	}
}

// TestRecord checks that the intervals adapt to forecasts that are off by a factor of 2 to 4, until
// they contain nine in ten starts, and that the median adapts too.
func TestRecord(t *testing.T) {
	r := NewRecord("c")
	now := int64(0)
	for i := range 2000 {
		now += 1000
		k := Ask{App: uint32(i)}
		r.Promise(now, k, 1, 60_000)
		if _, ok := r.Started(now+120_000+int64(i*7919%120_000), k); !ok {
			t.Fatal("the promise is forgotten")
		}
	}
	if share := float64(r.Held) / float64(r.Due); share < 0.85 || share > 0.95 {
		t.Errorf("%.3f of the intervals held", share)
	}
	p := r.Promise(now, Ask{App: 9999}, 1, 60_000)
	if p.Median < 160_000 || p.Median > 200_000 || p.From < 110_000 || p.To > 250_000 || p.To < p.Median {
		t.Errorf("promise %+v, want Median 160 to 200 s, From at least 110 s, "+
			"To at most 250 s and not below Median", p)
	}
	if _, ok := r.Started(now, Ask{App: 12345}); ok || r.Waiting() != 1 {
		t.Errorf("%d promises wait", r.Waiting())
	}
}

// TestIntervalOfSimilarForecasts has short waits that become an hour while long ones are forecast
// well. The interval of a forecast must come from similar forecasts and consist of whole
// heartbeats.
func TestIntervalOfSimilarForecasts(t *testing.T) {
	r := NewRecord("c")
	now := int64(0)
	for i := range 100 {
		now += 10_000_000
		short, long := Ask{App: uint32(2 * i)}, Ask{App: uint32(2*i + 1)}
		r.Promise(now, short, 1, 1_500)
		r.Promise(now, long, 1, 3_600_000)
		r.Started(now+3_600_000, short)
		r.Started(now+3_600_500, long)
	}
	for forecast, far := range map[int64]int64{1_600: 3_599_000, 3_000_000: 2_999_000} {
		from, median, to := r.Interval(now, forecast)
		if median < far || from > median || to < median || to-from > 500_000 || from%1000 != 0 || to%1000 != 0 {
			t.Errorf("forecast %d: from %d, median %d, to %d", forecast, from, median, to)
		}
	}
}

// TestIntervalWhileNothingStarts checks that the interval grows when nothing starts any more after
// forecasts that held, because open promises count with the time that they have waited so far.
func TestIntervalWhileNothingStarts(t *testing.T) {
	r := NewRecord("c")
	for i := range uint32(60) {
		r.Promise(0, Ask{App: i}, 1, 60_000)
		r.Started(60_000, Ask{App: i})
	}
	for i := range uint32(240) {
		r.Promise(60_000, Ask{App: 100 + i}, 1, 60_000)
	}
	if _, median, to := r.Interval(61_000, 60_000); median != 60_000 || to != 60_000 {
		t.Errorf("before any is late: median %d, to %d", median, to)
	}
	if _, median, to := r.Interval(660_000, 60_000); median < 600_000 || to < 600_000 {
		t.Errorf("ten minutes later: median %d, to %d", median, to)
	}
}

// TestIntervalOfBurst checks the interval of forecasts of which hundreds are open and none has come
// due, while others have.
func TestIntervalOfBurst(t *testing.T) {
	r := NewRecord("c")
	for i := range uint32(60) {
		r.Promise(0, Ask{App: i}, 1, 1_000)
		r.Started(1_000, Ask{App: i})
	}
	for i := range uint32(1000) {
		r.Promise(1_000, Ask{App: 100 + i}, 1, 3_600_000)
	}
	if from, median, to := r.Interval(3*3_601_000, 3_600_000); from > median || median < 2*3_600_000 || to < median {
		t.Errorf("after three hours: from %d, median %d, to %d", from, median, to)
	}
}

// TestShortInterval checks that the interval of forecasts whose starts are rarely very late is the
// shortest one with nine in ten starts, and not one that leaves out as many starts before it.
func TestShortInterval(t *testing.T) {
	r := NewRecord("c")
	for i := range uint32(300) {
		late := int64(i * 7919 % 100 * 1_000) // evenly in 100 s, but for one in fifteen that is hours late
		if i%15 == 7 {
			late = 36_000_000
		}
		r.Promise(0, Ask{App: i}, 1, 60_000)
		r.Started(late, Ask{App: i})
	}
	if from, _, to := r.Interval(0, 60_000); from > 10_000 || to < 80_000 || to > 110_000 {
		t.Errorf("from %d to %d", from, to)
	}
}

// BenchmarkPromises computes the intervals of 9,900 forecasts.
func BenchmarkPromises(b *testing.B) {
	for b.Loop() {
		r := NewRecord("c")
		for i := range uint32(kept) {
			r.Promise(0, Ask{App: i}, 1, int64(i*7919%100_000))
			r.Started(int64(i*104_729%200_000), Ask{App: i})
		}
		for range 2 {
			factors := r.factorsAt(100_000)
			for i := range uint32(9_900) {
				r.promise(factors, 100_000, Ask{App: kept + i}, 1, int64(i*7919%100_000))
			}
		}
	}
}

// BenchmarkRefresh forecasts 9,900 asks behind 1,600 containers. Budget: 100 ms.
func BenchmarkRefresh(b *testing.B) {
	c := newCluster(b)
	for n := range 99 {
		c.do(&input.RegisterNode{ID: yarn.NodeID{Host: "m", Port: uint16(n + 1)}, Rack: "/r",
			Total: yarn.NewResource(16384, 16)})
	}
	c.app("root.a", 1_600, 1024, 0)
	for range 9_900 { // a queue has at most 10,000 applications
		c.app("root.a", 1, 1024, 0)
	}
	for b.Loop() {
		if _, err := Run(c.p.State(), c.now, Waiting(c.p.State()), RefreshOptions()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkForecast forecasts 500 asks that wait in 100 queues of a full cluster of 10,000 nodes:
// all of them, as a refresh does, and one of them, as an answer does, with preemption off and on. All
// queues are owed their guarantees, and each ask has a reservation. Budgets: 2 s of processor time for a
// refresh, 200 ms for an answer.
func BenchmarkForecast(b *testing.B) {
	c := newCluster(b)
	set := &input.SetQueues{}
	var paths []string
	for q := range 100 {
		paths = append(paths, fmt.Sprintf("root.q%02d", q))
	}
	for _, q := range preset.QueuesFor(append(paths, "root.a")) {
		set.Properties = append(set.Properties, input.Property(q))
	}
	for _, path := range paths {
		set.Properties = append(set.Properties, input.Property{Name: "yarn.scheduler.capacity." + path + ".user-limit-factor",
			Value: "100"})
	}
	c.do(set)
	for n := range 9_999 {
		c.do(&input.RegisterNode{ID: yarn.NodeID{Host: fmt.Sprintf("m%04d", n), Port: 1}, Rack: "/r",
			Total: yarn.NewResource(16384, 16)})
	}
	for i := range 600 { // the first hundred fill the cluster but for 1 GiB on each node
		count := int64(500)
		if i >= 100 {
			count = 1
		}
		id := yarn.AttemptID{App: c.do(&input.SubmitApplication{User: "u", Name: "job", Queue: paths[i%100],
			Unmanaged: true}).(*input.SubmitApplicationReply).ID, Attempt: 1}
		c.do(&input.RegisterAttempt{Attempt: id})
		c.do(&input.Allocate{Attempt: id, Asks: []input.Ask{
			{Key: key, Name: yarn.Any, Count: count, Size: yarn.NewResource(3072, 1), Relax: true}}})
		for range min(count, 4) {
			c.take(id)
		}
	}
	st := c.p.State()
	asks := Waiting(st)
	one := asks[len(asks)/2:][:1]
	for _, x := range []struct {
		name       string
		asks       []Ask
		o          Options
		time       time.Duration // the budgets of package server
		preemption string
	}{{"refresh", asks, RefreshOptions(), time.Second, "false"},
		{"answer", one, DefaultOptions(), 100 * time.Millisecond, "false"},
		{"preemption", one, DefaultOptions(), 100 * time.Millisecond, "true"}} {
		c.do(&input.SetQueues{Properties: append(set.Properties,
			input.Property{Name: enablePreemption, Value: x.preemption})})
		b.Run(x.name, func(b *testing.B) {
			runs, before := 0, growth.ProcessorTime()
			for b.Loop() {
				began := time.Now()
				x.o.Enough = func() bool { return time.Since(began) > x.time }
				starts, err := Run(st, c.now, x.asks, x.o)
				if err != nil {
					b.Fatal(err)
				}
				runs = len(starts[0].Delays)
			}
			b.ReportMetric((growth.ProcessorTime()-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(runs), "runs")
		})
	}
}
