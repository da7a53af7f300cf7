package planner

import (
	"fmt"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// plant is a cluster under full load: containers end within one round of heartbeats, and every
// application asks for more than the cluster has.
type plant struct {
	p     *Planner
	nodes []yarn.NodeID
	apps  []yarn.AttemptID
	now   int64
	next  int
	laps  int // completed rounds of heartbeats over all nodes
	every int // rounds of heartbeats between two preemption rounds; 0: no preemption
	hb    input.NodeHeartbeat
}

type plantSize struct {
	nodes, leaves, apps, perNode int
	deep                         bool // leaves two levels below root, with the dominant calculator and GPUs
	labels                       int  // number of labels; each has as many nodes and leaves as the default partition
}

// label returns the label of the i-th node, and of the applications of the i-th leaf. It is empty
// for the default partition.
func (s plantSize) label(i int) string {
	if i %= s.labels + 1; i > 0 {
		return fmt.Sprintf("x%d", i)
	}
	return ""
}

// labelProps gives every leaf the same share of every label.
func (s plantSize) labelProps(queue string) (props []input.Property) {
	for i := range s.labels {
		props = append(props, input.Property{Name: fmt.Sprintf("%sroot.%s.accessible-node-labels.%s.capacity", confPrefix,
			queue, s.label(i+1)), Value: "1w"})
	}
	return props
}

// addLabels labels the nodes. Every second label is not exclusive.
func (w *plant) addLabels(tb testing.TB, s plantSize) {
	for i := range s.labels {
		in := &input.LabelNodes{}
		for k := i + 1; k < len(w.nodes); k += s.labels + 1 {
			in.Nodes = append(in.Nodes, input.LabelledNode{ID: w.nodes[k], Labels: []string{s.label(i + 1)}})
		}
		w.must(tb, &input.SetLabels{Labels: []input.Label{{Name: s.label(i + 1), Exclusive: i%2 == 0}}})
		w.must(tb, in)
	}
}

func newPlant(tb testing.TB, s plantSize, opt Options) *plant {
	w := &plant{p: must(New(state.New(), opt)), now: 1000}
	props := []input.Property{
		{Name: confPrefix + "per-node-heartbeat.maximum-offswitch-assignments", Value: "100"},
		{Name: confPrefix + "maximum-am-resource-percent", Value: "1"},
		{Name: confPrefix + "maximum-applications", Value: "100000"},
	}
	if s.deep {
		props = append(props, input.Property{Name: confPrefix + "resource-calculator", Value: dominantClass},
			input.Property{Name: "yarn.resource-types", Value: "yarn.io/gpu"})
	}
	var list string
	for i := range s.leaves {
		name := fmt.Sprintf("q%d", i)
		list += "," + name
		if s.deep {
			props = append(props, input.Property{Name: confPrefix + "root." + name + ".capacity", Value: "1w"},
				input.Property{Name: confPrefix + "root." + name + ".queues", Value: "l"})
			name += ".l"
		}
		props = append(props, s.labelProps(name)...)
		props = append(props, input.Property{Name: confPrefix + "root." + name + ".capacity", Value: "1w"},
			input.Property{Name: confPrefix + "root." + name + ".user-limit-factor", Value: "1000"})
	}
	props = append(props, input.Property{Name: confPrefix + "root.queues", Value: list[1:]})
	if s.labels > 0 {
		props = append(props, input.Property{Name: "yarn.node-labels.enabled", Value: "true"})
	}
	w.must(tb, &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Properties: props})
	for i := range s.nodes {
		id := yarn.NodeID{Host: fmt.Sprintf("host%05d", i), Port: 1}
		w.must(tb, &input.RegisterNode{ID: id, Rack: fmt.Sprintf("rack%d", i/40),
			Total: yarn.NewResource(int64(s.perNode)*2048, 64)})
		w.nodes = append(w.nodes, id)
	}
	w.addLabels(tb, s)
	for i := range s.apps {
		r := w.must(tb, &input.SubmitApplication{User: fmt.Sprintf("u%d", i%7),
			Queue: fmt.Sprintf("root.q%d", i%s.leaves) + map[bool]string{true: ".l"}[s.deep], Unmanaged: true,
			Label: s.label(i % s.leaves)})
		at := yarn.AttemptID{App: r.(*input.SubmitApplicationReply).ID, Attempt: 1}
		w.must(tb, &input.RegisterAttempt{Attempt: at})
		w.apps = append(w.apps, at)
	}
	return w
}

func (w *plant) must(tb testing.TB, in input.Input) input.Reply {
	w.now++
	r, _ := w.p.Plan(w.now, input.Request{Input: in})
	if f := r.Refused(); f != nil {
		tb.Fatalf("%T: %v", in, f)
	}
	return r
}

// demand makes every application ask for more containers than it will ever get.
func (w *plant) demand(tb testing.TB, size yarn.Resource) {
	for _, at := range w.apps {
		w.must(tb,
			&input.Allocate{Attempt: at, Asks: []input.Ask{
				{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1_000_000, Size: size, Relax: true}}})
	}
}

// turn sends one node's heartbeat, which completes the containers that AMs have acquired. Once a
// round, every AM calls first.
func (w *plant) turn(tb testing.TB) {
	if w.next == len(w.nodes) {
		w.next = 0
		if w.laps++; w.every > 0 && w.laps%w.every == 0 {
			w.must(tb, &input.PreemptionRound{})
		}
		for _, at := range w.apps {
			a := w.p.st.Apps.Get(w.p.st.Apps.ByID(at.App))
			w.must(tb, &input.Allocate{Attempt: at, Response: a.Response})
		}
	}
	w.hb = input.NodeHeartbeat{ID: w.nodes[w.next], Statuses: w.hb.Statuses[:0]}
	w.next++
	first, list := w.p.st.Removals(w.p.st.Nodes.Find(w.hb.ID))
	w.hb.RemovalsAcked = first + uint64(len(list)) - 1
	for _, k := range w.p.st.Containers.On(w.p.st.Nodes.Get(w.p.st.Nodes.Find(w.hb.ID))) {
		if k.State == yarn.ContainerAcquired {
			w.hb.Statuses = append(w.hb.Statuses, input.ContainerStatus{Container: w.p.st.Apps.ContainerID(k),
				State: yarn.ContainerCompleted})
		}
	}
	w.must(tb, &w.hb)
}

func (w *plant) decisions() uint64 { return w.p.st.Meta.Allocated + w.p.st.Meta.Completed }

func benchmarkPlan(b *testing.B, s plantSize) { newPlant(b, s, Options{}).benchmark(b) }

func (w *plant) benchmark(b *testing.B) {
	w.demand(b, yarn.NewResource(2048, 1))
	for range 3 * len(w.nodes) {
		w.turn(b)
	}
	before, inputs := w.decisions(), w.now
	b.ReportAllocs()
	for b.Loop() {
		w.turn(b)
	}
	n := w.decisions() - before
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/decision")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(w.now-inputs), "ns/input")
}

// BenchmarkPlan measures heartbeats that each complete 8 containers and allocate 8, with the calls
// of the AMs. The budget is 300,000 decisions per second on one core.
func BenchmarkPlan(b *testing.B) { benchmarkPlan(b, plantSize{1000, 100, 1000, 8, false, 0}) }

// BenchmarkPlanPreempting is BenchmarkPlan with preemption: one round for every three heartbeats of
// a node, as with the defaults. The budget is 95 % of the rate without preemption.
func BenchmarkPlanPreempting(b *testing.B) {
	w := newPlant(b, plantSize{1000, 100, 1000, 8, false, 0}, Options{})
	w.enablePreemption(b)
	w.every = 3
	w.benchmark(b)
}

// BenchmarkPlanLabels is BenchmarkPlan with five labels: each label and the default partition have
// a sixth of the nodes and of the leaves. The budget is 90 % of the rate without labels. Nothing
// else differs. In both, each leaf keeps only its first application busy, so a leaf asks for one
// label. If a leaf asked for several labels, more applications would be busy and would compete for
// the CPU's caches.
func BenchmarkPlanLabels(b *testing.B) { benchmarkPlan(b, plantSize{1000, 100, 1000, 8, false, 5}) }

// BenchmarkPlanScale measures whether the cost of a decision depends on the numbers of nodes,
// leaves and applications. It should hardly do so.
func BenchmarkPlanScale(b *testing.B) {
	for _, s := range []plantSize{{10_000, 100, 1000, 8, false, 0}, {1000, 10, 1000, 8, false, 0},
		{1000, 1000, 1000, 8, false, 0}, {1000, 100, 100, 8, false, 0}, {1000, 100, 10_000, 8, false, 0},
		{10_000, 1000, 10_000, 8, false, 0}} {
		b.Run(fmt.Sprintf("nodes=%d/leaves=%d/apps=%d", s.nodes, s.leaves, s.apps),
			func(b *testing.B) { benchmarkPlan(b, s) })
	}
}

// BenchmarkPlanGrowth is BenchmarkPlan with one dimension of the cluster at a time enlarged. It
// also measures how long a new leader takes to build its planner. Each AM calls once per round of
// heartbeats, so more applications mean more calls per decision.
func BenchmarkPlanGrowth(b *testing.B) {
	for _, kind := range []struct {
		name  string
		sizes []int
		size  func(n int) plantSize
	}{
		{"nodes", []int{1000, 10_000, 50_000}, func(
			n int) plantSize {
			return plantSize{nodes: n, leaves: 100, apps: 1000, perNode: 8}
		}},
		{"queues", []int{100, 1000, 9999}, func(
			n int) plantSize {
			return plantSize{nodes: 1000, leaves: n, apps: 10_000, perNode: 8}
		}},
		{"applications", []int{1000, 10_000, 100_000},
			func(n int) plantSize { return plantSize{nodes: 1000, leaves: 100, apps: n, perNode: 8} }},
	} {
		for _, n := range kind.sizes {
			b.Run(fmt.Sprintf("%s=%d", kind.name, n), func(b *testing.B) {
				w := newPlant(b, kind.size(n), Options{})
				w.benchmark(b)
				began := time.Now()
				must(New(w.p.st, Options{}))
				b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "new-leader-ms")
			})
		}
	}
}

// BenchmarkPlanDominant is BenchmarkPlan with the dominant calculator, GPUs and leaves one level
// deeper.
func BenchmarkPlanDominant(b *testing.B) { benchmarkPlan(b, plantSize{1000, 100, 1000, 8, true, 0}) }

// BenchmarkBlocked measures the heartbeat of a node with room when every application is refused
// because its user is at the limit.
func BenchmarkBlocked(b *testing.B) {
	w := newPlant(b, plantSize{100, 1, 10_000, 8, false, 0}, Options{})
	w.must(b, &input.SetQueues{Properties: []input.Property{
		{Name: confPrefix + "root.queues", Value: "q0,rest"}, {Name: confPrefix + "root.q0.capacity", Value: "10"},
		{Name: confPrefix + "root.rest.capacity", Value: "90"},
		{Name: confPrefix + "maximum-am-resource-percent", Value: "1"},
		{Name: confPrefix + "maximum-applications", Value: "100000"},
		{Name: confPrefix + "root.q0.minimum-user-limit-percent", Value: "10"},
		{Name: confPrefix + "root.q0.user-limit-factor", Value: "0.05"}}})
	w.demand(b, yarn.NewResource(2048, 1))
	for range 400 {
		w.must(b, &input.NodeHeartbeat{ID: w.nodes[w.next%100]})
		w.next++
	}
	b.ReportAllocs()
	for b.Loop() {
		w.must(b, &input.NodeHeartbeat{ID: w.nodes[99]})
	}
}

// BenchmarkHeartbeat measures a heartbeat that changes nothing. The budget is 500 ns, no event, and
// no allocation except the reply.
func BenchmarkHeartbeat(b *testing.B) {
	for _, kind := range []string{"idle", "full"} {
		b.Run(kind, func(b *testing.B) {
			w := newPlant(b, plantSize{1000, 100, 1000, 8, false, 0}, Options{})
			if kind == "full" {
				w.demand(b, yarn.NewResource(2048, 1))
				for range 2000 {
					w.turn(b)
				}
				for range 1000 { // AMs no longer call, so all nodes stay full.
					w.must(b, &input.NodeHeartbeat{ID: w.nodes[w.next%1000]})
					w.next++
				}
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				req := input.Request{Input: &input.NodeHeartbeat{ID: w.nodes[i%1000]}}
				if _, events := w.p.Plan(w.now, req); len(events) > 0 {
					b.Fatalf("an idle heartbeat led to %v", kindsOf(events))
				}
				i++
			}
		})
	}
}

// BenchmarkEagerAsk measures an AM that asks for one container and releases one, in eager mode on a
// cluster with room, with each order of nodes.
func BenchmarkEagerAsk(b *testing.B) {
	for _, order := range capacity.NodeOrders() {
		b.Run(order, func(b *testing.B) {
			w := newPlant(b, plantSize{1000, 100, 1000, 32, false, 0}, Options{Eager: true})
			w.set(b, input.Property{Name: confPrefix + "node-order", Value: order})
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				at := w.apps[i%len(w.apps)]
				i++
				a := w.p.st.Apps.Get(w.p.st.Apps.ByID(at.App))
				in := &input.Allocate{Attempt: at, Response: a.Response,
					Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1, Size: yarn.NewResource(2048, 1),
						Relax: true}}}
				for _, k := range w.p.st.Containers.Of(a) {
					if k.State.Live() {
						in.Releases = append(in.Releases, w.p.st.Apps.ContainerID(k))
					}
				}
				if r := w.must(b, in).(*input.AllocateReply); len(r.Granted) != 1 {
					b.Fatalf("granted %d", len(r.Granted))
				}
			}
		})
	}
}

// BenchmarkNew measures how long a new leader takes to build its planner.
func BenchmarkNew(b *testing.B) {
	w := newPlant(b, plantSize{1000, 100, 10_000, 8, false, 0}, Options{})
	w.demand(b, yarn.NewResource(2048, 1))
	for range 1000 {
		w.turn(b)
	}
	b.ReportAllocs()
	for b.Loop() {
		must(New(w.p.st, Options{}))
	}
}

// behindMany returns a plant with a leaf in which 10,000 applications wait for their AMs, by the
// limit of the queue or of their user, and a function that submits one more.
func behindMany(b *testing.B, kind string) (w *plant, submit func() yarn.ApplicationID) {
	w = newPlant(b, plantSize{100, 1, 0, 8, false, 0}, Options{})
	props := []input.Property{{Name: confPrefix + "root.queues", Value: "q0"},
		{Name: confPrefix + "root.q0.capacity", Value: "100"},
		{Name: confPrefix + "maximum-am-resource-percent", Value: "0.1"},
		{Name: confPrefix + "maximum-applications", Value: "100000"}}
	if kind == "user" {
		props = append(props, input.Property{Name: confPrefix + "root.q0.user-limit-factor", Value: "0.5"},
			input.Property{Name: confPrefix + "root.q0.maximum-applications", Value: "100000"})
	}
	w.must(b, &input.SetQueues{Properties: props})
	submit = func() yarn.ApplicationID {
		return w.must(b, &input.SubmitApplication{User: "u", Queue: "root.q0", AM: yarn.NewResource(2048, 1)}).(*input.SubmitApplicationReply).ID
	}
	for range 10_000 - 1 {
		if kind == "user" && w.p.Config().MaxApplicationsPerUser(1, w.p.sched.TreeOf) <= int64(w.p.st.Apps.Len()) {
			break
		}
		submit()
	}
	return w, submit
}

// BenchmarkSubmitBehindMany measures a submission and its kill in a leaf where 10,000 applications
// wait for their AMs.
func BenchmarkSubmitBehindMany(b *testing.B) {
	for _, kind := range []string{"queue", "user"} {
		b.Run(kind, func(b *testing.B) {
			w, submit := behindMany(b, kind)
			b.ReportAllocs()
			for b.Loop() {
				w.must(b, &input.KillApplication{ID: submit()})
			}
		})
	}
}

// BenchmarkDue measures what the leader asks once a second: whether a deadline has passed. 10,000
// applications wait, or 10,000 nodes run 100,000 applications.
func BenchmarkDue(b *testing.B) {
	due := func(b *testing.B, w *plant) {
		w.must(b, &input.Tick{Entropy: testEntropy}) // makes the keys
		for b.Loop() {
			if list := w.p.Due(w.now); len(list) > 0 {
				b.Fatalf("%T is due", list[0])
			}
		}
	}
	for _, kind := range []string{"queue", "user"} {
		b.Run(kind, func(b *testing.B) {
			w, _ := behindMany(b, kind)
			due(b, w)
		})
	}
	b.Run("large", func(b *testing.B) { due(b, newPlant(b, plantSize{10_000, 100, 100_000, 8, false, 0}, Options{})) })
}

// BenchmarkJoin measures a registration and the first heartbeat of a node, which makes the planner
// compute all capacities again.
func BenchmarkJoin(b *testing.B) {
	w := newPlant(b, plantSize{100, 1000, 1000, 8, false, 0}, Options{})
	w.demand(b, yarn.NewResource(2048, 1))
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		id := yarn.NodeID{Host: fmt.Sprintf("more%d", i), Port: 1}
		i++
		w.must(b, &input.RegisterNode{ID: id, Rack: "r", Total: yarn.NewResource(2048, 1)})
		w.must(b, &input.NodeHeartbeat{ID: id})
	}
}
