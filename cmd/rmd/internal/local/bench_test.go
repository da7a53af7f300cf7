package local

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/growth"
	"rmd/internal/quantile"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/server"
	"rmd/yarn"
)

// bench runs three replicas for a benchmark.
func bench(b *testing.B, queues []capacity.Property) (*Cluster, func(in input.Input) input.Reply) {
	b.Helper()
	return benchOf(b, 3, queues)
}

func benchOf(b *testing.B, replicas int, queues []capacity.Property) (*Cluster, func(in input.Input) input.Reply) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
	defer cancel()
	c, err := Start(ctx, Options{Replicas: replicas, Dir: b.TempDir(), Scheduling: "eager", Queues: queues,
		Version: "bench", Logger: hclog.NewNullLogger()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c, through(b, c.Replicas[c.Leader()])
}

// through returns a function that gives inputs to the leader.
func through(b *testing.B, lead *server.Replica) func(in input.Input) input.Reply {
	return func(in input.Input) input.Reply {
		reply, _, err := lead.Forwarder().Do(context.Background(), input.Request{Input: in})
		if err != nil {
			b.Error(err)
			return in.NewReply()
		}
		if f := reply.Refused(); f != nil {
			b.Errorf("%T: %v", in, f)
		}
		return reply
	}
}

func nodeID(i int) yarn.NodeID { return yarn.NodeID{Host: fmt.Sprintf("n%05d", i), Port: 45454} }

// BenchmarkAsk measures one ask on an idle cluster: allocated, committed on a majority and
// released, then the container is given back. Budget: 1.5 ms at the median.
func BenchmarkAsk(b *testing.B) {
	_, do := bench(b, nil)
	do(&input.RegisterNode{ID: nodeID(1), Rack: "/r", Total: yarn.NewResource(1<<20, 1<<10)})
	app := do(&input.SubmitApplication{User: "u", Queue: "root.default", Unmanaged: true}).(*input.SubmitApplicationReply).ID
	am := &asker{do: do, attempt: yarn.AttemptID{App: app, Attempt: 1}}
	do(&input.RegisterAttempt{Attempt: am.attempt})
	for b.Loop() {
		am.ask(b)
		b.StopTimer()
		am.giveBack()
		b.StartTimer()
	}
}

// BenchmarkSubmit measures durable submissions from 64 submitters.
func BenchmarkSubmit(b *testing.B) {
	_, do := bench(b, append(preset.QueuesFor([]string{"root.a"}),
		capacity.Property{Name: "yarn.scheduler.capacity.maximum-applications", Value: "100000000"}))
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wg sync.WaitGroup
	took := make([][]time.Duration, 64)
	for i := range took {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				began := time.Now()
				do(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true})
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "applications/s")
	b.ReportMetric(float64(quantile.Of(all, 0.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(quantile.Of(all, 0.99).Microseconds())/1000, "p99-ms")
}

// BenchmarkSubmitAsHadoop measures one client that gets an id and submits with it, one application
// after the other, as Hadoop's clients do.
func BenchmarkSubmitAsHadoop(b *testing.B) {
	_, do := bench(b, append(preset.QueuesFor([]string{"root.a"}),
		capacity.Property{Name: "yarn.scheduler.capacity.maximum-applications", Value: "100000000"}))
	for b.Loop() {
		id := do(&input.NewApplication{}).(*input.NewApplicationReply).ID
		do(&input.SubmitApplication{ID: id, User: "u", Queue: "root.a", Unmanaged: true})
	}
}

// BenchmarkDecisions measures the main work end to end. 1,000 nodes send heartbeats, each with the
// completed containers, to 1,000 applications in 100 leaf queues that always ask for more. A
// decision is a container allocated or completed, committed on a majority and released.
func BenchmarkDecisions(b *testing.B) {
	c, _ := bench(b, manyLeaves())
	decide(b, c.Replicas[c.Leader()])
}

// BenchmarkReplicas is BenchmarkDecisions with different numbers of replicas. It reports the
// processor time of all replicas per decision. The differences are the cost of more replicas.
func BenchmarkReplicas(b *testing.B) {
	for _, n := range []int{1, 3, 5, 7} {
		b.Run(fmt.Sprintf("replicas=%d", n), func(b *testing.B) {
			c, _ := benchOf(b, n, manyLeaves())
			decide(b, c.Replicas[c.Leader()])
		})
	}
}

// BenchmarkDecisionsApart is BenchmarkDecisions with the replicas in separate processes. The leader
// is in this process.
func BenchmarkDecisionsApart(b *testing.B) { decide(b, apart(b, manyLeaves())) }

// leaves returns the paths of a hundred leaf queues.
func leaves() (paths []string) {
	for i := range 100 {
		paths = append(paths, fmt.Sprintf("root.p%d.q%03d", i/10, i))
	}
	return paths
}

// manyLeaves returns a configuration of these queues, without limits that would slow the load down.
func manyLeaves() []capacity.Property {
	paths := leaves()
	queues := append(preset.QueuesFor(paths),
		capacity.Property{Name: "yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments", Value: "100"},
		capacity.Property{Name: "yarn.scheduler.capacity.resource-calculator",
			Value: "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"})
	for _, p := range paths {
		queues = append(queues, capacity.Property{Name: "yarn.scheduler.capacity." + p + ".user-limit-factor", Value: "100"})
	}
	return queues
}

// decide loads the leader.
func decide(b *testing.B, lead *server.Replica) {
	const nodes, apps, perNode = 1000, 1000, 8
	do, paths := through(b, lead), leaves()
	for i := range nodes {
		do(&input.RegisterNode{ID: nodeID(i), Rack: "/r", Total: yarn.NewResource(perNode*1024, perNode)})
	}
	for i := range apps {
		id := yarn.AttemptID{App: do(&input.SubmitApplication{User: fmt.Sprint("u", i%50), Queue: paths[i%len(paths)],
			Unmanaged: true}).(*input.SubmitApplicationReply).ID, Attempt: 1}
		do(&input.RegisterAttempt{Attempt: id})
		do(&input.Allocate{Attempt: id, Asks: []input.Ask{
			{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1_000_000, Size: yarn.NewResource(1024, 1),
				Relax: true}}})
	}
	machine := lead.Machine()
	count := func() (decisions, entries uint64) {
		st, index := machine.Fork()
		return st.Meta.Allocated + st.Meta.Completed, index
	}
	running := func(n int) []input.ContainerStatus {
		st, _ := machine.Fork()
		var out []input.ContainerStatus
		node := st.Nodes.Get(st.Nodes.Find(nodeID(n)))
		for _, c := range st.Containers.On(node) {
			out = append(out, input.ContainerStatus{Container: st.Apps.ContainerID(c), State: yarn.ContainerCompleted})
		}
		return out
	}
	for i := range nodes { // fill the nodes
		do(&input.NodeHeartbeat{ID: nodeID(i)})
	}
	before, from := count()
	cpu := growth.ProcessorTime()
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 256 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				n := int(i) % nodes
				do(&input.NodeHeartbeat{ID: nodeID(n), Statuses: running(n)})
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	after, to := count()
	b.ReportMetric(float64(after-before)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64((growth.ProcessorTime()-cpu).Microseconds())/float64(after-before), "cpu-µs/decision")
	b.ReportMetric(float64(after-before)/float64(to-from), "decisions/entry")
}
