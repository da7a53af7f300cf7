package replay

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

// TestCompareNodes replays a part of the demo trace on fewer nodes than it was made for. It checks
// that equal options give equal results, that phases change what YARN's way does and differ between
// copies, that every container runs, and that starts and waits agree.
func TestCompareNodes(t *testing.T) {
	tr, err := trace.Read(trace.Demo, trace.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := NodesFor("2", trace.Demo, tr)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Trace: tr, Nodes: nodes, AM: true, Seed: 1, Limit: 200, Copies: 2}
	got, err := CompareNodes(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := (report.Resource{MemoryMB: 393216, VCores: 96, GPUs: 8}); got.Largest != want {
		t.Errorf("the largest node is %+v", got.Largest)
	}
	if len(got.Orders) != 3+2*len(capacity.NodeOrders()) || got.Orders[0].Name != "yarn, in order" ||
		got.Orders[4].Name != "auto +b" {
		t.Fatalf("rows %+v", got.Orders)
	}
	for _, order := range got.Orders {
		for i, r := range order.Copies {
			if n := r.Large.Containers + r.Small.Containers; n != 200 || r.AMs.Containers != 200 ||
				r.Large.Unserved+r.Small.Unserved+r.AMs.Unserved != 0 {
				t.Errorf("%s, copy %d: %+v", order.Name, i, r)
			}
			if r.Unusable == nil || *r.Unusable <= 0 || *r.Unusable >= 1 || r.Empty < 0 || r.Empty >= 1 || r.Variation <= 0 ||
				r.ReservedIdle <= 0 {
				t.Errorf("%s, copy %d: %+v", order.Name, i, r)
			}
			// Each application has one container beside its AM, and asks for it once the AM has started.
			large, small := float64(r.Large.Containers), float64(r.Small.Containers)
			waits := r.AMs.MeanMillis + (r.Large.MeanMillis*large+r.Small.MeanMillis*small)/200
			if r.StartMillis < waits || r.AppMillis <= r.StartMillis ||
				r.StartMillis > waits+2*startMillis && order.Name != "auto, same asks" {
				t.Errorf("%s, copy %d: %g ms from submission to start, %g to the end; waits of %g", order.Name, i,
					r.StartMillis, r.AppMillis, waits)
			}
		}
	}
	inOrder, random, same, auto, lends := got.Orders[0], got.Orders[1], got.Orders[2], got.Orders[3], got.Orders[4]
	if reflect.DeepEqual(inOrder.Copies, random.Copies) {
		t.Error("random phases change nothing")
	}
	if lends.Copies[0].Blocked != 0 || auto.Copies[0].Blocked == 0 {
		t.Errorf("blocked %g with backfill, %g without", lends.Copies[0].Blocked, auto.Copies[0].Blocked)
	}
	if same.Copies[0].StartMillis <= auto.Copies[0].StartMillis {
		t.Errorf("asks as late as on YARN start after %g ms, others after %g", same.Copies[0].StartMillis,
			auto.Copies[0].StartMillis)
	}
	if reflect.DeepEqual(o.copied(0).phases(time.Second), o.copied(1).phases(time.Second)) {
		t.Error("two copies have the same phases")
	}
	if first, emptiest := inOrder.Copies[0].Variation, auto.Copies[0].Variation; first <= emptiest {
		t.Errorf("if the first node that calls takes all, the variation is %g; with the emptiest node first, %g",
			first, emptiest)
	}
	o.leaveOut()
	again, err := o.copied(1).choosing(t.Context(), nodeRuns()[1])
	if err != nil || !reflect.DeepEqual(again, random.Copies[1]) {
		t.Errorf("once more: %+v, %v; the first time %+v", again, err, random.Copies[1])
	}
}

// TestLeaveOut checks that a container must fit one node in every resource, and that the limit
// applies first.
func TestLeaveOut(t *testing.T) {
	nodes := []trace.Node{{MemoryMB: 4096, VCores: 4}, {MemoryMB: 2048, VCores: 8, GPUs: 1}}
	job := func(name string, memory, vcores, gpus int64) trace.Job {
		return trace.Job{Name: name, Tasks: []trace.TaskGroup{{Count: 1, MemoryMB: 1, VCores: 1},
			{Count: 1, MemoryMB: memory, VCores: vcores, GPUs: gpus}}}
	}
	tr := &trace.Trace{Jobs: []trace.Job{job("first", 4096, 4, 0), job("memory", 4097, 1, 0), job("both", 4096, 8, 0),
		job("second", 2048, 8, 1), job("gpus", 1, 1, 2), job("late", 1, 1, 0)}}
	o := Options{Trace: tr, Nodes: nodes, Limit: 5}
	if n := o.leaveOut(); n != 3 || o.Limit != 0 || len(o.Trace.Jobs) != 2 || o.Trace.Jobs[0].Name != "first" ||
		o.Trace.Jobs[1].Name != "second" {
		t.Errorf("%d left out, limit %d, left %+v", n, o.Limit, o.Trace.Jobs)
	}
	if len(tr.Jobs) != 6 || tr.Jobs[1].Name != "memory" {
		t.Error("the trace itself has changed")
	}
}

// TestNodeMeterTime checks that measurement begins when a tenth of the applications has arrived, and
// ends with the last arrival.
func TestNodeMeterTime(t *testing.T) {
	tr := &trace.Trace{Queues: []string{"root.a"}}
	for i := range 20 {
		tr.Jobs = append(tr.Jobs, trace.Job{Submit: time.Duration(i) * time.Minute})
	}
	o := Options{Trace: tr, Scheduling: "eager"}
	b, _, err := o.lending("", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newNodeMeter(b, o)
	for _, c := range []struct {
		to      time.Duration
		seconds float64
	}{{time.Minute, 0}, {3 * time.Minute, 60}, {4 * time.Minute, 120}, {time.Hour, 17 * 60}, {2 * time.Hour, 17 * 60}} {
		if m.advance(c.to); m.sums.time != c.seconds {
			t.Errorf("until %s, %g s are measured, want %g", c.to, m.sums.time, c.seconds)
		}
	}
}

// TestNodeMeter follows three applications on two nodes with GPUs and one without. The first takes
// half of the GPUs of both nodes. The second reserves one of these nodes. The third would fit on the
// other one.
func TestNodeMeter(t *testing.T) {
	const gpu = 2
	job := func(at time.Duration, count int, gpus int64) trace.Job {
		return trace.Job{Submit: at, Tasks: []trace.TaskGroup{{Count: count, MemoryMB: 1024, VCores: 1, GPUs: gpus}}}
	}
	tr := &trace.Trace{Queues: []string{"root.a"}, Jobs: []trace.Job{
		job(0, 1, 0), job(10*time.Second, 2, 4), job(10*time.Second, 1, 8), job(20*time.Second, 1, 2),
		job(40*time.Second, 3, 0)}}
	for _, c := range []struct {
		name                                                  string
		keys                                                  []capacity.Property
		blocked, reserved, empty, variation, unusable, waited float64
	}{
		// The three nodes are empty for 10 s, and one of them for 30 s. Their containers are 1, 1 and
		// 0. Of 16 free GPUs all can be used, later of 4 and 4 those that the second application does
		// not ask for.
		{"reservations count", nil, 0.125 * 20 / 40, 0.25 * 30 / 40, (10 + 30.0/3) / 40, math.Sqrt(2.0 / 9 * 9 / 4),
			2 * 30.0 / (16*10 + 8*30), 1},
		// After 20 s the containers are 1, 2 and 0, and 2 GPUs of 2 are usable for those that ask for 2.
		{"backfill", lendingKeys, 0, 0.25 * 30 / 40, (10 + 30.0/3) / 40, (math.Sqrt(2.0/9*9/4)*10 + math.Sqrt(6.0/9)*20) / 30,
			(2*10 + (1+1.5)*20.0) / (16*10 + 8*10 + 6*20), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Trace: tr, Scheduling: "eager", Nodes: []trace.Node{{GPUs: 8, MemoryMB: 8192, VCores: 8}}}
			// to break up both nodes
			b, _, err := o.lending("", append(slices.Clip(c.keys), capacity.Property{Name: nodeOrderKey, Value: "spread"}))
			if err != nil {
				t.Fatal(err)
			}
			m := newNodeMeter(b, o)
			do := func(in input.Input) input.Reply {
				t.Helper()
				reply, err := b.Do(t.Context(), in)
				if err != nil || reply.Refused() != nil {
					t.Fatalf("%T: %v, %v", in, err, reply)
				}
				return reply
			}
			for i, host := range []string{"n1", "n2", "n3"} {
				size := yarn.NewResource(8192, 8)
				if i < 2 {
					size[gpu] = 8
				}
				do(&input.RegisterNode{ID: yarn.NodeID{Host: host, Port: 1}, HTTPPort: 1, Rack: "/r", Total: size, Version: "test"})
			}
			for _, j := range tr.Jobs[1:4] {
				m.advance(j.Submit)
				g := j.Tasks[0]
				id := do(&input.SubmitApplication{Name: "x", User: "u", Queue: "root.a", Unmanaged: true, MaxAttempts: 1}).(*input.SubmitApplicationReply).ID
				at := yarn.AttemptID{App: id, Attempt: 1}
				do(&input.RegisterAttempt{Attempt: at})
				size := yarn.NewResource(g.MemoryMB, g.VCores)
				size[gpu] = g.GPUs
				do(&input.Allocate{Attempt: at, Asks: []input.Ask{
					{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: int64(g.Count), Size: size, Relax: true}}})
			}
			m.advance(30 * time.Second)
			m.advance(100 * time.Second) // only the time until the last application arrives counts
			st := b.State()
			waiting := 0.0
			st.Asks.Each(func(_ state.AskSlot, k *state.Ask) bool {
				if k.Size[gpu] == 2 {
					waiting += float64(k.Count)
				}
				return true
			})
			got := m.summary(&report.Summary{EndMillis: 100_000})
			for _, f := range []struct {
				name      string
				got, want float64
			}{{"blocked", got.Blocked, c.blocked}, {"reserved and idle", got.ReservedIdle, c.reserved},
				{"empty", got.Empty, c.empty},
				{"variation", got.Variation, c.variation}, {"unusable GPUs", *got.Unusable, c.unusable},
				{"waiting of the third", waiting, c.waited}} {
				if math.Abs(f.got-f.want) > 1e-9 {
					t.Errorf("%s: %g, want %g", f.name, f.got, f.want)
				}
			}
		})
	}
}
