package rerun

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/workload"
	"rmd/workload/trace"
	"rmd/yarn"
)

// recorder is a planner that keeps its events as a log.
type recorder struct {
	t     *testing.T
	p     *planner.Planner
	now   int64
	apps  []yarn.AttemptID
	log   []view.LogEntry
	first uint64
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, p: p, now: 1_000_000, first: 1}
	in := &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Entropy: make([]byte, 1024)}
	for _, q := range append(preset.QueuesFor([]string{"root.a"}),
		capacity.Property{Name: "yarn.scheduler.capacity.root.a.user-limit-factor", Value: "10"},
		capacity.Property{Name: "yarn.scheduler.maximum-allocation-mb", Value: "16384"}) {
		in.Properties = append(in.Properties, input.Property(q))
	}
	r.do(in)
	for _, host := range []string{"n1", "n2"} {
		r.do(&input.RegisterNode{ID: yarn.NodeID{Host: host, Port: 1}, Rack: "/r", Total: yarn.NewResource(16384, 16)})
	}
	return r
}

func (r *recorder) do(in input.Input) input.Reply {
	r.t.Helper()
	reply, events := r.p.Plan(r.now, input.Request{Input: in})
	if f := reply.Refused(); f != nil {
		r.t.Fatalf("%T was refused: %v", in, f)
	}
	if len(events) > 0 {
		b := event.Batch{Level: 1, Events: events}
		r.log = append(r.log, view.LogEntry{Index: uint64(len(r.log)) + 1, Term: 1, Type: "events", Data: b.Encode()})
	}
	return reply
}

// Entries implements view.LogReader.
func (r *recorder) Entries(_ context.Context, from uint64, count int) ([]view.LogEntry, uint64, uint64, error) {
	if from != 0 && from < r.first {
		return nil, 0, 0, &problem.TooOldError{Oldest: r.first}
	}
	from = max(from, r.first)
	last := uint64(len(r.log))
	return r.log[min(from-1, last):min(from-1+uint64(count), last)], r.first, last, nil
}

// app submits an application that asks for count containers.
func (r *recorder) app(count int64, size yarn.Resource) yarn.AttemptID {
	r.t.Helper()
	id := yarn.AttemptID{App: r.do(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}).(*input.SubmitApplicationReply).ID, Attempt: 1}
	r.do(&input.RegisterAttempt{Attempt: id})
	r.apps = append(r.apps, id)
	r.do(&input.Allocate{Attempt: id, Asks: []input.Ask{
		{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: count, Size: size, Relax: true}}})
	return id
}

// pass lets the AMs fetch their containers, advances the time, and ends one container on each node.
func (r *recorder) pass(millis int64) {
	for _, id := range r.apps {
		r.do(&input.Allocate{Attempt: id, Response: r.p.State().Apps.Get(r.p.State().Apps.ByID(id.App)).Response})
	}
	r.now += millis
	var beats []input.NodeHeartbeat
	r.p.State().Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		hb := input.NodeHeartbeat{ID: n.ID}
		if n.Containers != 0 {
			k := r.p.State().Containers.Get(n.Containers)
			hb.Statuses = []input.ContainerStatus{{Container: r.p.State().Apps.ContainerID(k), State: yarn.ContainerCompleted}}
		}
		beats = append(beats, hb)
		return true
	})
	for i := range beats {
		r.do(&beats[i])
	}
}

// TestCompare checks that a recording contains every ask and the run times, and that only the
// simulation with reservations makes some.
func TestCompare(t *testing.T) {
	r := newRecorder(t)
	r.app(24, yarn.NewResource(1024, 1))
	r.app(2, yarn.NewResource(14*1024, 1))
	for range 8 {
		r.pass(30_000)
	}
	r.app(10, yarn.NewResource(2048, 1))
	for range 40 {
		r.pass(30_000)
	}
	if r.p.State().Meta.Made == 0 {
		t.Fatal("nothing was reserved when it was recorded")
	}
	digest := r.p.State().Digest()
	d, err := Compare(t.Context(), r, r.p.State().Fork())
	if err != nil {
		t.Fatal(err)
	}
	if d.Apps != 3 || d.Containers != 36 || d.Nodes != 2 || d.Cut || d.From != 1 || d.To != uint64(len(r.log)) ||
		d.SpanMillis < 600_000 {
		t.Errorf("Compare = %+v, want 3 applications, 36 containers, 2 nodes, all %d entries uncut, 10 min or more",
			d, len(r.log))
	}
	for _, s := range []api.RerunSide{d.With, d.Without} {
		if s.Large.Containers != 2 || s.Small.Containers != 34 || s.Large.Unserved+s.Small.Unserved != 0 || s.Used <= 0 ||
			s.EndMillis == 0 {
			t.Errorf("side = %+v, want 2 large and 34 small containers, none unserved, with use and an end",
				s)
		}
	}
	if d.With.Made == 0 || d.With.Fulfilled == 0 || d.Without.Made != 0 || d.Without.ReservedIdle != 0 {
		t.Errorf("with %+v, without %+v", d.With, d.Without)
	}
	if r.p.State().Digest() != digest {
		t.Error("the cluster was touched")
	}
}

// TestCompareBounds checks three cases: a log without a workload is an error, a log without its
// beginning is used from its first entry, and a huge ask is cut off.
func TestCompareBounds(t *testing.T) {
	r := newRecorder(t)
	_, err := Compare(t.Context(), r, r.p.State().Fork())
	var none *api.Error
	if !errors.As(err, &none) || none.Code != "NOTHING_RECORDED" {
		t.Fatalf("Compare without a workload: %v, want code NOTHING_RECORDED", err)
	}
	r.first = uint64(len(r.log))
	r.app(1_000_000, yarn.NewResource(1024, 1))
	r.pass(1000)
	d, err := Compare(t.Context(), r, r.p.State().Fork())
	if err != nil {
		t.Fatal(err)
	}
	if !d.Cut || d.Containers != maxOfAsk || d.From != r.first {
		t.Errorf("Compare = %+v, want it cut off at %d containers and from %d", d, maxOfAsk, r.first)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, r, r.p.State().Fork()); err == nil {
		t.Error("it goes on though nobody waits")
	}
}

// TestClusterTime checks that the planner has the time of the simulation: it has waited for a
// container of an hour when the simulation ends.
func TestClusterTime(t *testing.T) {
	c, err := NewCluster(preset.QueuesFor([]string{"root.a"}), true)
	if err != nil {
		t.Fatal(err)
	}
	w := workload.DefaultConfig()
	w.AM, w.Logger, w.Nodes = false, hclog.NewNullLogger(),
		[]trace.Node{{Name: "n1", Rack: "/r", MemoryMB: 4096, VCores: 4}}
	w.Jobs = slices.Values([]trace.Job{{Name: "x", User: "u", Queue: "root.a",
		Tasks: []trace.TaskGroup{{Count: 1, MemoryMB: 1024, VCores: 1, Duration: time.Hour, After: -1}}}})
	s, err := c.Simulate(t.Context(), w, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if ran := c.State().Meta.NowMillis - Epoch; ran < time.Hour.Milliseconds() || ran > s.EndMillis {
		t.Errorf("the planner's time has advanced by %d ms, want an hour at least and at most the %d ms of the run",
			ran, s.EndMillis)
	}
}
