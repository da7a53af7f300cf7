package replay

import (
	"reflect"
	"testing"
	"time"

	"rmd/analysis/rerun"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/workload/trace"
	"rmd/yarn"
)

// TestComparePreemption replays the demo trace on fewer nodes than it was made for. It checks that
// equal options give equal results, that "planned" preempts no container in vain, and that it loses
// less work than YARN's selectors with waits that are not longer.
func TestComparePreemption(t *testing.T) {
	tr, err := trace.Read(trace.Demo, trace.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := NodesFor("3", trace.Demo, tr)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Trace: tr, Nodes: nodes, Scheduling: "eager", AM: true, Seed: 1}
	runs, err := ComparePreemption(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	off, planned, yarns := runs[0], runs[1], runs[2]
	if off.Warned+off.Killed != 0 || off.Lost.ClusterSeconds != 0 || off.Owed.Containers == 0 {
		t.Errorf("without preemption: %+v", off)
	}
	if planned.Killed == 0 || planned.Unused != 0 || planned.Lost.MemoryMBSeconds == 0 || planned.Owed.Unserved != 0 {
		t.Errorf("planned: %+v", planned)
	}
	if yarns.Unused == 0 || planned.Lost.ClusterSeconds >= yarns.Lost.ClusterSeconds ||
		planned.Owed.P95Millis > yarns.Owed.P95Millis {
		t.Errorf("planned: %+v; yarn: %+v; docs/performance.md shows the figures", planned, yarns)
	}
	again, err := o.preempting(t.Context(), selectors[1].name, selectors[1].keys)
	if err != nil || !reflect.DeepEqual(again, planned) {
		t.Errorf("once more: %+v, %v; the first time %+v", again, err, planned)
	}
}

// TestGuaranteesComeBack replays a trace in which ten applications of four hours hold the cluster,
// and a queue that is owed half of it runs tasks of 30 seconds. It checks that nobody who is owed
// waits longer than preemption.guarantee-wait-ms says, but for heartbeats and the ends of containers
// on their nodes. There are always enough containers that may end.
func TestGuaranteesComeBack(t *testing.T) {
	const most, slack = 2 * time.Minute, 15 * time.Second
	for seed := int64(1); seed <= 3; seed++ {
		opt := trace.DefaultOptions()
		opt.Seed = seed
		tr, err := trace.Read("../../../../workload/trace/owed/old-borrowers.json", opt)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Trace: tr, Nodes: tr.Nodes, Scheduling: "eager", AM: true, Seed: seed}
		run, err := o.preempting(t.Context(), selectors[1].name, selectors[1].keys)
		if err != nil {
			t.Fatal(err)
		}
		if longest := time.Duration(run.Owed.MaxMillis) * time.Millisecond; longest > most+slack || run.Killed == 0 {
			t.Errorf("seed %d: an owed container waits for %s, %s beyond the guarantee's time; %d killed", seed, longest,
				longest-most, run.Killed)
		}
	}
}

// TestTally follows one preempted container whose resources another queue waits for.
func TestTally(t *testing.T) {
	for _, c := range []struct {
		name   string
		wanted bool // the request still exists when the container has ended
		unused int
		owed   []int64
	}{
		{"the queue that is owed it gets the room", true, 0, []int64{0, 0, 0, 0, 21_000}},
		{"nobody wants the room any more", false, 1, []int64{0, 0, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newTestCluster(t)
			a, b := v.submit(t, "root.a"), v.submit(t, "root.b")
			v.ask(t, a, 8)
			v.beat(t)
			v.Advance(v.Elapsed + 100*time.Second)
			v.ask(t, b, 1)
			for range 6 { // the first warns, the last preempts
				v.Advance(v.Elapsed + 3*time.Second)
				v.do(t, &input.PreemptionRound{})
			}
			if got := v.tally.counts; got.Warned != 1 || got.Killed != 1 || got.Unused != 1 ||
				got.Lost.MemoryMBSeconds != 118*1024 {
				t.Fatalf("after the kill: %+v", got)
			}
			if !c.wanted {
				v.ask(t, b, 0)
			}
			v.Advance(v.Elapsed + 3*time.Second)
			v.beat(t)
			v.ask(t, a, 3)
			got := v.tally.summary("planned", v.Elapsed.Milliseconds())
			if got.Unused != c.unused || !reflect.DeepEqual(v.tally.waited, c.owed) {
				t.Errorf("unused %d, waits %v; want %d, %v", got.Unused, v.tally.waited, c.unused, c.owed)
			}
		})
	}
}

// testCluster is a node of 8 GiB and two queues that are each guaranteed half of it. Applications
// have no AM.
type testCluster struct {
	*rerun.Cluster
	node  yarn.NodeID
	tally *tally
}

func newTestCluster(t *testing.T) *testCluster {
	queues, err := capacity.Parse(append(preset.QueuesFor([]string{"root.a", "root.b"}), selectors[1].keys...))
	if err != nil {
		t.Fatal(err)
	}
	v, err := rerun.NewCluster(queues.Properties(), true)
	if err != nil {
		t.Fatal(err)
	}
	c := &testCluster{v, yarn.NodeID{Host: "n1", Port: 1}, newTally(v)}
	c.do(t, &input.RegisterNode{ID: c.node, HTTPPort: 1, Rack: "/r", Total: yarn.NewResource(8192, 8), Version: "test"})
	return c
}

func (c *testCluster) do(t *testing.T, in input.Input) input.Reply {
	t.Helper()
	reply, err := c.Do(t.Context(), in)
	if err != nil {
		t.Fatalf("%T: %v", in, err)
	}
	if f := reply.Refused(); f != nil {
		t.Fatalf("%T was refused: %v", in, f)
	}
	return reply
}

func (c *testCluster) submit(t *testing.T, queue string) yarn.AttemptID {
	r := c.do(t, &input.SubmitApplication{Name: "x", User: "u", Queue: queue, Unmanaged: true, MaxAttempts: 1}).(*input.SubmitApplicationReply)
	at := yarn.AttemptID{App: r.ID, Attempt: 1}
	c.do(t, &input.RegisterAttempt{Attempt: at})
	return at
}

// ask asks for containers of 1 GiB.
func (c *testCluster) ask(t *testing.T, at yarn.AttemptID, count int64) {
	st := c.State()
	c.do(t, &input.Allocate{Attempt: at, Response: st.Apps.Get(st.Apps.ByID(at.App)).Response, Asks: []input.Ask{
		{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: count, Size: yarn.NewResource(1024, 1), Relax: true}}})
}

// beat sends a heartbeat that reports each container in the state that the node should know.
func (c *testCluster) beat(t *testing.T) {
	st := c.State()
	in := &input.NodeHeartbeat{ID: c.node}
	for _, k := range st.Containers.On(st.Nodes.Get(st.Nodes.Find(c.node))) {
		s := input.ContainerStatus{Container: st.Apps.ContainerID(k), State: yarn.ContainerRunning}
		if !k.State.Live() {
			s.State, s.ExitStatus = yarn.ContainerCompleted, yarn.ExitPreempted
		}
		in.Statuses = append(in.Statuses, s)
	}
	c.do(t, in)
}
