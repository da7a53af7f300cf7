package forecaster

import (
	"math"
	"strconv"
	"testing"

	"rmd/analysis/forecast"
	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// forecastCluster is a planner with one queue and one node of 16384 MB.
type forecastCluster struct {
	t   testing.TB
	p   *planner.Planner
	now int64
}

func newForecastCluster(t *testing.T, properties ...input.Property) *forecastCluster {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &forecastCluster{t, p, 1_000_000}
	in := &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Entropy: make([]byte, 1024)}
	for _, q := range append(preset.QueuesFor([]string{"root.a"}),
		capacity.Property{Name: "yarn.scheduler.capacity.root.a.user-limit-factor", Value: "10"},
		capacity.Property{Name: "yarn.scheduler.maximum-allocation-mb", Value: "32768"}) {
		in.Properties = append(in.Properties, input.Property(q))
	}
	in.Properties = append(in.Properties, properties...)
	c.do(in)
	return c
}

// node registers the only node.
func (c *forecastCluster) node() {
	c.t.Helper()
	c.do(&input.RegisterNode{ID: yarn.NodeID{Host: "n1", Port: 1}, Rack: "/r", Total: yarn.NewResource(16384, 16)})
}

func (c *forecastCluster) do(in input.Input) input.Reply {
	c.t.Helper()
	reply, _ := c.p.Plan(c.now, input.Request{Input: in})
	if f := reply.Refused(); f != nil {
		c.t.Fatalf("%T was refused: %v", in, f)
	}
	return reply
}

// app submits an application that asks for one container.
func (c *forecastCluster) app(memory int64, priority int32) yarn.ApplicationID {
	c.t.Helper()
	submit := &input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true, Priority: priority, PrioritySet: true}
	id := yarn.AttemptID{App: c.do(submit).(*input.SubmitApplicationReply).ID, Attempt: 1}
	c.do(&input.RegisterAttempt{Attempt: id})
	c.do(&input.Allocate{Attempt: id, Asks: []input.Ask{
		{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1, Size: yarn.NewResource(memory, 1), Relax: true}}})
	return id.App
}

// TestForecastOf checks three forecasts: an ask that waits for a running container has a start and
// names that container, an ask that no node can satisfy never starts, and an application that waits
// for nothing has no forecast.
func TestForecastOf(t *testing.T) {
	c := newForecastCluster(t, input.Property{Name: "yarn.cluster.max-application-priority", Value: "1"})
	huge := c.app(32768, 0) // before a node is known: nobody may ask for more than the largest node
	var y explain.Explainer
	early := &question{st: c.p.State().Fork(), now: c.now, explain: y.Explain, options: forecast.DefaultOptions()}
	if d, err := early.of(t.Context(), huge); err != nil || len(d.Asks) != 1 || d.Asks[0].Never != "" ||
		d.Asks[0].Started != 0 {
		t.Errorf("before a node is known: %+v, %v", d, err)
	}
	c.node()
	first, second := c.app(16384, 1), c.app(16384, 1)
	now := c.now
	forecastOf := func(id yarn.ApplicationID) (*api.Forecast, error) {
		var x explain.Explainer
		f := &question{st: c.p.State().Fork(), now: now, explain: x.Explain, options: forecast.DefaultOptions()}
		return f.of(t.Context(), id)
	}
	d, err := forecastOf(second)
	if err != nil || len(d.Asks) != 1 || d.Runs != 15 {
		t.Fatalf("forecast = %+v, %v, want one ask from 15 runs", d, err)
	}
	k := d.Asks[0]
	if k.Started != 15 || k.FromMillis <= now || k.MedianMillis < k.FromMillis || k.ToMillis < k.MedianMillis ||
		k.Never != "" {
		t.Errorf("forecast of the ask = %+v, want 15 starts, at times after %d in order, and no reason for never",
			k, now)
	}
	if len(k.After) != 1 || k.After[0].ID != first.String() || k.After[0].Container == "" || k.After[0].Node != "n1:1" ||
		k.After[0].Queue != "root.a" || k.After[0].Runs != 15 || len(k.Queues) != 1 ||
		k.Queues[0] != (api.ForecastQueue{Path: "root.a", Runs: 15}) {
		t.Errorf("it waits for %+v", k.After)
	}
	if len(k.Sooner) != 1 || k.Sooner[0].If != first.String()+" ended now" || k.Sooner[0].MedianMillis >= k.MedianMillis {
		t.Errorf("it starts sooner if %+v", k.Sooner)
	}
	if d, err := forecastOf(huge); err != nil || len(d.Asks) != 1 || d.Asks[0].Never == "" {
		t.Errorf("what no node can hold: %+v, %v", d, err)
	}
	if d, err := forecastOf(first); err != nil || len(d.Asks) != 0 {
		t.Errorf("what runs: %+v, %v", d, err)
	}
}

// TestForecastUnderParallelLimit checks that the forecast for an application that a limit on parallel
// applications holds back names the limit, and does not say that it waits for nothing.
func TestForecastUnderParallelLimit(t *testing.T) {
	c := newForecastCluster(t, input.Property{Name: "yarn.scheduler.capacity.root.a.max-parallel-apps", Value: "1"})
	c.node()
	c.app(16384, 0)
	id := c.do(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}).(*input.SubmitApplicationReply).ID
	var x explain.Explainer
	f := &question{st: c.p.State().Fork(), now: c.now, explain: x.Explain, options: forecast.DefaultOptions()}
	d, err := f.of(t.Context(), id)
	if err != nil || len(d.Asks) != 0 || d.Waits != "root.a runs 1 application, and may run 1 at a time" {
		t.Errorf("forecast = %+v, %v, want no ask and the limit", d, err)
	}
}

// TestForecastKept checks that an answer is not reused when the application waits for something else.
func TestForecastKept(t *testing.T) {
	x := &api.Explanation{Reason: "NODE_TOO_SMALL", Asks: []explain.Ask{{Count: 1, Never: true}}}
	f, id := &Forecaster{}, yarn.ApplicationID{Seq: 1}
	f.keep(id, kept{&api.Forecast{AtMillis: 1000}, aboutWhat(x)})
	if f.answered(1000+answersKept-1, id, aboutWhat(x)) == nil || f.answered(1000+answersKept, id, aboutWhat(x)) != nil {
		t.Error("an answer is not reused for as long as it should be")
	}
	x.Asks[0].Never = false
	if f.answered(1001, id, aboutWhat(x)) != nil {
		t.Error("the answer says never, and the explanation does not")
	}
}

// TestForecastPriority checks that a forecast supposes a higher priority only up to the cluster's
// maximum, and only if it is higher than the application's own.
func TestForecastPriority(t *testing.T) {
	const highest = math.MaxInt32
	for _, x := range []struct {
		most, others, own int32
		above             int32 // -1: none
	}{
		{10, 3, 0, 4}, {10, 3, 3, 4}, {10, 3, 4, -1}, {10, 10, 0, 10}, {10, 10, 10, -1}, {0, 0, 0, -1},
		{highest, highest, 0, highest}, {highest, highest, highest, -1}, {highest, highest - 1, 0, highest},
	} {
		c := newForecastCluster(t, input.Property{Name: "yarn.cluster.max-application-priority",
			Value: strconv.Itoa(int(x.most))})
		c.node()
		c.app(16384, 0)
		c.app(16384, x.others)
		id := c.app(16384, x.own)
		f := &Forecaster{}
		above, ok := f.question(c.p.State(), c.now).priorityAbove(c.p.State().Apps.Get(c.p.State().Apps.ByID(id)))
		if !ok {
			above = -1
		}
		if above != x.above {
			t.Errorf("%+v: it is supposed to have priority %d", x, above)
		}
	}
}
