package leader

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// granted gives application 1 n containers that its AM has received, and one more that it has not.
func granted(t testing.TB, r *fixture, n int) {
	t.Helper()
	key, one := yarn.SchedulerKey{Priority: 1}, yarn.NewResource(1, 0)
	events := []event.Event{
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}},
		&event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "n", Port: 1}, Rack: "/r",
			Total: yarn.NewResource(1_000_000, 1)},
		&event.ApplicationSubmitted{App: 1, User: "u", Queue: "root.a", Unmanaged: true},
		&event.AttemptStarted{App: 1, Attempt: 1}, &event.AttemptActivated{App: 1}, &event.AttemptRegistered{App: 1},
		&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: int64(n) + 1, Size: one},
	}
	for i := range n + 1 {
		if i == n { // the last one is granted after the newest response
			events = append(events, &event.ResponseRecorded{App: 1, Response: 1})
		}
		events = append(events, &event.ContainerAllocated{App: 1, Number: uint64(i + 1), Key: key, Node: 1,
			Locality: yarn.OffSwitch})
	}
	for _, e := range events {
		if err := r.log.st.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
}

// keepAlive keeps the node and the AM alive for d.
func (r *fixture) keepAlive(t *testing.T, d time.Duration) {
	for ; d > 0; d -= 10 * time.Second {
		time.Sleep(min(d, 10*time.Second))
		r.must(t, input.Request{Input: &input.NodesHeard{Nodes: []state.NodeSlot{1}}})
		r.must(t,
			input.Request{Input: &input.Allocate{Attempt: yarn.AttemptID{App: yarn.ApplicationID{ClusterTimestamp: 5, Seq: 1},
				Attempt: 1}}})
	}
	synctest.Wait()
}

func (p *fakePlanner) numbers() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []uint64
	for _, id := range p.unstarted {
		out = append(out, id.Number)
	}
	slices.Sort(out)
	return out
}

func TestUnstartedContainersExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, func(c *Config) {
			c.Expiry = func(*state.State) Expiry {
				return Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, ContainerMillis: 300_000}
			}
		})
		const n = 450
		granted(t, r, n)
		launched := &event.ContainerLaunched{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 7}}
		if err := r.log.st.Apply(launched); err != nil {
			t.Fatal(err)
		}
		stop := r.lead(1)
		r.keepAlive(t, 299*time.Second)
		if got := r.planner.numbers(); len(got) != 0 {
			t.Fatalf("%v expired before their time", got)
		}
		stop()
		time.Sleep(time.Hour)
		defer r.lead(2)() // every container gets a full interval again
		r.keepAlive(t, 299*time.Second)
		if got := r.planner.numbers(); len(got) != 0 {
			t.Fatalf("the new leader expired %v too early", got)
		}
		r.keepAlive(t, 130*time.Second) // one round to find them first, one to find them expired
		got := r.planner.numbers()
		if len(got) != n-1 || slices.Contains(got, 7) || slices.Contains(got, n+1) {
			t.Errorf("%d expired, 7, which runs, among them: %v; %d, which its AM was not told of: %v", len(got),
				slices.Contains(got, 7), n+1, slices.Contains(got, n+1))
		}
		if e := r.planner.expired(); len(e) != 0 {
			t.Errorf("%v expired", e)
		}
	})
}

func TestUnstartedContainersStayWithoutAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		granted(t, r, 3)
		defer r.lead(1)()
		r.keepAlive(t, time.Hour)
		if got := r.planner.numbers(); len(got) != 0 {
			t.Errorf("%v expired", got)
		}
	})
}

// TestUnstartedTimerPerContainer checks that a new container in a slot gets its own time limit, and
// that a started container is no longer watched.
func TestUnstartedTimerPerContainer(t *testing.T) {
	r := newFixture(t, nil)
	granted(t, r, 2)
	st, u := r.log.st, unstarted{}
	apply := func(events ...event.Event) {
		t.Helper()
		for _, e := range events {
			if err := st.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	look := func(from, to int64) {
		for now := from; now < to; now += 100 {
			u.look(st, now, 10_000, 100)
		}
	}
	look(0, 9_000)
	ref := func(n uint64) event.ContainerRef { return event.ContainerRef{App: 1, Attempt: 1, Number: n} }
	apply(&event.ContainerCompleted{Container: ref(1)}, &event.ResponseRecorded{App: 1, Response: 2},
		&event.ResponseRecorded{App: 1, Response: 3},
		&event.AskChanged{App: 1, Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1,
			Size: yarn.NewResource(1, 0)},
		&event.ContainerAllocated{App: 1, Number: 4, Key: yarn.SchedulerKey{Priority: 1}, Node: 1, Locality: yarn.OffSwitch},
		&event.ResponseRecorded{App: 1, Response: 4}, &event.ContainerLaunched{Container: ref(2)})
	look(9_000, 18_000)
	if in := u.take(); in != nil {
		t.Fatalf("%+v is due: one was started, one is another in the first one's place, one was told just now", in)
	}
	look(18_000, 24_000)
	in, _ := u.take().(*input.ExpireContainers)
	if in == nil || len(in.Containers) != 2 || u.take() != nil || len(u.met) != 2 {
		t.Errorf("%+v is due, %d are watched, want containers 3 and 4", in, len(u.met))
	}
}

func TestTickEntropy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		r.due = func(int64) []input.Input { return []input.Input{&input.Tick{}} }
		defer r.lead(1)()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		one := r.planner.entropy()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(one) != 32 || bytes.Equal(one, r.planner.entropy()) {
			t.Errorf("two ticks drew %x and %x", one, r.planner.entropy())
		}
	})
	c := DefaultConfig()
	c.Entropy = nil
	if c.Validate() == nil {
		t.Error("a configuration without entropy is accepted")
	}
}

func TestNodesHeardKeepsNodesAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		defer r.lead(1)()
		r.must(t, register("quiet"))
		r.must(t, register("a"))
		r.must(t, register("b"))
		for range 62 {
			time.Sleep(10 * time.Second)
			r.must(t, input.Request{Input: &input.NodesHeard{Nodes: []state.NodeSlot{2, 3, 77}}})
		}
		synctest.Wait()
		if e := r.planner.expired(); !slices.Equal(e, []string{"quiet"}) {
			t.Errorf("expired: %v", e)
		}
	})
}

// TestAttemptTimersLaunchToEnd checks which attempts are watched.
func TestAttemptTimersLaunchToEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		app  state.App
		want bool
	}{
		{"waits", state.App{AttemptState: state.AttemptPending}, false},
		{"active", state.App{AttemptState: state.AttemptActive}, false},
		{"is unmanaged", state.App{AttemptState: state.AttemptActive, Unmanaged: true}, true},
		{"is unmanaged and waits", state.App{AttemptState: state.AttemptPending, Unmanaged: true}, false},
		{"has a container for its AM", state.App{AttemptState: state.AttemptActive, Live: 1, MasterNumber: 1}, true},
		{"waits for its AM and keeps containers", state.App{AttemptState: state.AttemptActive, Live: 1}, false},
		{"registered", state.App{AttemptState: state.AttemptRegistered}, true},
		{"finishing", state.App{AttemptState: state.AttemptFinishing}, true},
		{"ended", state.App{AttemptState: state.AttemptEnded, LaunchedMillis: 9}, false},
	} {
		if got := started(&c.app); got != c.want {
			t.Errorf("an attempt that %s is watched: %v", c.name, got)
		}
	}
}

func TestOnlyCounts(t *testing.T) {
	counts := []event.Event{&event.TimeAdvanced{}, &event.AskCountersUpdated{}}
	grants := []event.Event{&event.TimeAdvanced{}, &event.ContainerAllocated{}}
	for _, c := range []struct {
		in     input.Input
		events []event.Event
		want   bool
	}{
		{&input.NodesHeard{}, counts, true}, {&input.NodeHeartbeat{}, counts, true}, {&input.Allocate{}, counts, false},
		{&input.NodesHeard{}, grants, false}, {&input.NodeHeartbeat{}, []event.Event{&event.CleanupsAcked{}}, false},
	} {
		if got := onlyCounts(c.in, c.events); got != c.want {
			t.Errorf("%T with %d events: %v", c.in, len(c.events), got)
		}
	}
}

// BenchmarkNodesHeard measures what a batch of a thousand idle nodes costs the timers.
func BenchmarkNodesHeard(b *testing.B) {
	w, in := newWheel(0), &input.NodesHeard{}
	for n := range state.NodeSlot(1000) {
		w.add(uint64(n+1), 0, 600_000)
		in.Nodes = append(in.Nodes, n+1)
	}
	t := timers{nodes: w, silence: silence{heard: make([]int64, 1001)}}
	b.ReportAllocs()
	for b.Loop() {
		t.now++
		t.touch(nil, in)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/node")
}

// BenchmarkUnstarted measures one tick with 100,000 containers that wait to be started.
func BenchmarkUnstarted(b *testing.B) {
	r := newFixture(b, nil)
	granted(b, r, 100_000)
	u := unstarted{}
	b.ReportAllocs()
	for b.Loop() {
		u.look(r.log.st, 0, 600_000, 1000)
	}
}

// TestAMTimers checks that the time of an AM begins when it gets its container, or, if it is
// unmanaged, when it may register. It begins again with the launch, with the registration and when
// the AM unregisters. A new leader watches the same attempts.
func TestAMTimers(t *testing.T) {
	st, tm := state.New(), timers{}
	apply := func(events ...event.Event) {
		t.Helper()
		for _, e := range events {
			if err := st.Apply(e); err != nil {
				t.Fatal(err)
			}
			for _, c := range st.Changes() {
				tm.follow(st, &c)
			}
		}
	}
	expiry := Expiry{NodeMillis: 600_000, AttemptMillis: 600_000}
	cfg := CoreConfig{TickInterval: time.Second, Expiry: func(*state.State) Expiry { return expiry }}
	heard := func(step string, want int64, app ...uint64) {
		t.Helper()
		next := timers{now: tm.now}
		next.arm(st, expiry)
		tm.tick(st, cfg, 0, 0, true)
		next.tick(st, cfg, 0, 0, true)
		if len(tm.attempts.heard) != len(next.attempts.heard) {
			t.Errorf("%s: %d attempts are watched, by a new leader %d", step, len(tm.attempts.heard), len(next.attempts.heard))
		}
		if at, ok := tm.attempts.heard[append(app, 1)[0]<<32|1]; ok != (want >= 0) || (ok && at != want) {
			t.Errorf("%s: heard of at %d (%v), want %d", step, at, ok, want)
		}
	}
	tm.arm(st, expiry)
	apply(&event.TimeAdvanced{NowMillis: 1000}, &event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}},
		&event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "n", Port: 1}, Rack: "/r", Total: yarn.NewResource(10, 1),
			NodeManager: true},
		&event.ApplicationSubmitted{App: 1, User: "u", Queue: "root.a", AM: yarn.NewResource(1, 0)},
		&event.AttemptStarted{App: 1, Attempt: 1}, &event.AttemptActivated{App: 1},
		&event.AskChanged{App: 1, Name: yarn.Any, Count: 1, Size: yarn.NewResource(1, 0)})
	heard("activated", -1)
	tm.now = 5000
	apply(&event.ContainerAllocated{App: 1, Number: 1, Node: 1, Locality: yarn.OffSwitch, AM: true})
	heard("allocated", 5000)
	tm.now = 7000
	apply(&event.AttemptLaunched{App: 1})
	heard("launched", 7000)
	tm.now = 9000
	apply(&event.AttemptRegistered{App: 1})
	heard("registered", 9000)
	tm.now = 11_000
	apply(&event.AttemptUnregistered{App: 1})
	heard("unregistered", 11_000)
	apply(&event.ApplicationSubmitted{App: 2, User: "u", Queue: "root.a", Unmanaged: true},
		&event.AttemptStarted{App: 2, Attempt: 1})
	heard("unmanaged, waits", -1, 2)
	apply(&event.AttemptActivated{App: 2})
	heard("unmanaged, may register", 11_000, 2)
}
