package state

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// The size of the benchmarks' state: the largest cluster for which rmd is designed, fully used.
const (
	bigContainers = 1_000_000
	bigNodes      = 10_000
	bigApps       = 100_000
)

var big = sync.OnceValues(func() (*State, error) { return buildBig(bigApps, bigNodes, bigContainers) })

// buildBig builds a state from events. Every application has an equal share of the containers,
// which its AM has received, and asks for one more.
func buildBig(apps, nodes, containers int) (*State, error) {
	s := New()
	var err error
	do := func(e event.Event) {
		if err == nil {
			err = s.Apply(e)
		}
	}
	do(&event.ClusterInitialized{ClusterID: "big", ClusterTimestamp: 1, Level: event.Level})
	do(tree(1, leaf("root.a"), leaf("root.b"), leaf("root.c")))
	for i := range nodes {
		do(&event.NodeRegistered{Node: NodeSlot(i + 1), ID: yarn.NodeID{Host: fmt.Sprintf("node%05d", i), Port: 8041},
			Rack: fmt.Sprintf("/rack%03d", i/40), Total: gb(256)})
	}
	each, node := containers/apps, NodeSlot(0)
	for i := range apps {
		app := uint32(i + 1)
		do(&event.ApplicationSubmitted{App: app, Name: "a", User: fmt.Sprintf("user%03d", i%200),
			Queue: "root." + string("abc"[i%3]), AM: gb(1)})
		do(&event.AttemptStarted{App: app, Attempt: 1})
		do(&event.AttemptActivated{App: app})
		do(&event.AttemptRegistered{App: app})
		do(ask(app, k1, int64(each+1), 1))
		for n := range each {
			do(allocated(app, uint64(n+1), k1, node%NodeSlot(nodes)+1))
			node++
		}
		do(&event.ResponseRecorded{App: app, Response: 1})
		do(&event.ResponseRecorded{App: app, Response: 2})
	}
	return s, err
}

func bigState(b *testing.B) *State {
	s, err := big()
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkBytesPerContainer measures the memory per container, including its share of the index.
// Budget: 250 bytes.
func BenchmarkBytesPerContainer(b *testing.B) {
	for b.Loop() {
		before := heap()
		with, err := buildBig(1000, 1000, 201_000)
		if err != nil {
			b.Fatal(err)
		}
		full := heap()
		without, err := buildBig(1000, 1000, 1000)
		if err != nil {
			b.Fatal(err)
		}
		small := heap() - full
		b.ReportMetric((float64(full-before)-float64(small))/200_000, "bytes/container")
		runtime.KeepAlive(with)
		runtime.KeepAlive(without)
	}
}

// BenchmarkBytesPerName measures the memory per name of 12 bytes. Budget: 64 bytes.
func BenchmarkBytesPerName(b *testing.B) {
	const names = 200_000
	for b.Loop() {
		s := New()
		before := heap()
		for i := range names {
			s.Names.Intern(&s.Meta, fmt.Sprintf("user%08d", i))
		}
		full := heap()
		b.ReportMetric(float64(full-before)/names, "bytes/name")
		runtime.KeepAlive(s)
	}
}

// BenchmarkFork measures Fork with 1,000,000 containers, 10,000 nodes and 100,000 applications.
// Budget: 1 ms.
func BenchmarkFork(b *testing.B) {
	s := bigState(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Fork()
	}
}

// BenchmarkForkThenWrite adds the cost of the first writes after a fork: 1000 allocations and
// completions, each of which copies shared pages.
func BenchmarkForkThenWrite(b *testing.B) {
	s := bigState(b).Fork()
	b.ReportAllocs()
	for b.Loop() {
		f := s.Fork()
		churn(b, f, 1000)
	}
}

// churn allocates and completes n containers, each for another application on another node.
func churn(b *testing.B, s *State, n int) {
	apps, nodes := uint32(s.Apps.Len()), NodeSlot(s.Nodes.Len())
	for i := range n {
		app := uint32(i)*7919%apps + 1
		a := s.Apps.Get(s.Apps.Find(app))
		e := allocated(app, s.Meta.NextNumber(a), k1, NodeSlot(i)*31%nodes+1)
		if err := s.Apply(e); err != nil {
			b.Fatal(err)
		}
		if err := s.Apply(&event.ContainerCompleted{Container: ref(app, e.Number), Restore: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllocateComplete measures the two events of a container on the big state. Budget: 3 µs.
func BenchmarkAllocateComplete(b *testing.B) {
	s := bigState(b).Fork()
	churn(b, s, 100_000) // own the pages
	b.ReportAllocs()
	for b.Loop() {
		churn(b, s, 1000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/container")
}

// BenchmarkCheck measures Check, which runs once per restored snapshot.
func BenchmarkCheck(b *testing.B) {
	s := bigState(b)
	for b.Loop() {
		if err := s.Check(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode measures the encoding of all sections.
func BenchmarkEncode(b *testing.B) {
	s := bigState(b)
	for b.Loop() {
		b.ReportMetric(float64(len(encode(s))), "bytes")
	}
}
