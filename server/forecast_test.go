package server

import (
	"testing"

	"rmd/forecast"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// TestForecastOf: what waits for a container that runs has a start and names who must end first;
// what no node can hold never starts; and who waits for nothing is told nothing.
func TestForecastOf(t *testing.T) {
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	now := int64(1_000_000)
	do := func(in input.Input) input.Reply {
		t.Helper()
		reply, _ := p.Plan(now, input.Request{Input: in})
		if f := reply.Refused(); f != nil {
			t.Fatalf("%T: %v", in, f)
		}
		return reply
	}
	in := &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Entropy: make([]byte, 1024)}
	for _, q := range append(capacity.QueuesFor([]string{"root.a"}), capacity.Property{Name: "yarn.scheduler.capacity.root.a.user-limit-factor", Value: "10"},
		capacity.Property{Name: "yarn.scheduler.maximum-allocation-mb", Value: "32768"}) {
		in.Properties = append(in.Properties, input.Property(q))
	}
	do(in)
	do(&input.RegisterNode{ID: yarn.NodeID{Host: "n1", Port: 1}, Rack: "/r", Total: yarn.NewResource(16384, 16)})
	app := func(memory int64) yarn.ApplicationID {
		id := yarn.AttemptID{App: do(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}).(*input.SubmitApplicationReply).ID, Attempt: 1}
		do(&input.RegisterAttempt{Attempt: id})
		do(&input.Allocate{Attempt: id, Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1, Size: yarn.NewResource(memory, 1), Relax: true}}})
		return id.App
	}
	first, second, huge := app(16384), app(16384), app(32768)
	forecastOf := func(id yarn.ApplicationID) (*api.Forecast, error) {
		var x explain.Explainer
		f := &forecaster{st: p.State().Fork(), now: now, explain: x.Explain, options: forecast.DefaultOptions()}
		return f.of(t.Context(), id)
	}
	d, err := forecastOf(second)
	if err != nil || len(d.Asks) != 1 || d.Runs != 15 {
		t.Fatalf("%+v, %v", d, err)
	}
	k := d.Asks[0]
	if k.Started != 15 || k.FromMillis <= now || k.MedianMillis < k.FromMillis || k.ToMillis < k.MedianMillis || k.Never != "" {
		t.Errorf("%+v", k)
	}
	if len(k.After) != 1 || k.After[0].ID != first.String() || k.After[0].Container == "" || k.After[0].Node != "n1:1" ||
		k.After[0].Queue != "root.a" || k.After[0].Runs != 15 || len(k.Queues) != 1 || k.Queues[0] != (api.ForecastQueue{Path: "root.a", Runs: 15}) {
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
