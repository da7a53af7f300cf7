package fsm

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

const perApp = 5000 // the largest number of containers per application

var key = yarn.SchedulerKey{Priority: 1}

// fullness is the size of a machine's state. The state has at least one application whose ask never
// ends.
type fullness struct{ nodes, queues, ended, containers int }

// million returns a machine with 1,000,000 containers on 20,000 nodes.
var million = sync.OnceValue(func() *Machine { return filled(fullness{nodes: 20_000, containers: 1_000_000}) })

// filled returns a machine whose state it has built by applying entries.
func filled(f fullness) *Machine {
	m := New(Config{})
	index := uint64(0)
	apply := func(events ...event.Event) {
		index++
		if err, bad := m.Apply(entry(index, 1, 0, events...)).(error); bad {
			panic(err)
		}
	}
	queues := []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}
	for q := range f.queues {
		queues = append(queues, event.QueueDefinition{Path: fmt.Sprintf("root.q%d", q), Leaf: true})
	}
	apply(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Queues: queues})
	for n := range f.nodes {
		apply(&event.NodeRegistered{Node: yarn.NodeSlot(n + 1), ID: yarn.NodeID{Host: fmt.Sprintf("h%d", n), Port: 1},
			Rack: fmt.Sprintf("/r%d", n/40), Total: yarn.NewResource(1<<20, 1<<10)})
	}
	apps := max(f.containers/perApp, 1)
	for a := range apps {
		app := uint32(a + 1)
		apply(&event.ApplicationSubmitted{App: app, User: "u", Queue: "root.a", Unmanaged: true},
			&event.AttemptStarted{App: app, Attempt: 1}, &event.AttemptActivated{App: app},
			&event.AskChanged{App: app, Key: key, Name: yarn.Any, Count: perApp + 1<<40, Size: yarn.NewResource(1024, 1)})
		for i := 0; i < f.containers/apps; i += 1000 {
			apply(granted(app, uint64(i+1), 1000, f.containers/f.nodes)...)
		}
	}
	for a := range f.ended {
		app := uint32(apps + a + 1)
		apply(&event.ApplicationSubmitted{App: app, User: fmt.Sprintf("u%d", a%1000), Name: "etl", Type: "MAPREDUCE",
			Queue: "root.a", Unmanaged: true},
			&event.AttemptStarted{App: app, Attempt: 1}, &event.AttemptActivated{App: app},
			&event.AttemptEnded{App: app, Final: yarn.FinalSucceeded},
			&event.ApplicationEnded{App: app, State: yarn.AppFinished, Final: yarn.FinalSucceeded})
	}
	return m
}

// granted returns the allocations of n containers of an application, which fill its nodes in order.
func granted(app uint32, number uint64, n, perNode int) []event.Event {
	out := make([]event.Event, n)
	for i := range out {
		seq := number + uint64(i)
		node := yarn.NodeSlot((int(app-1)*perApp+int(seq-1))/perNode + 1)
		out[i] = &event.ContainerAllocated{App: app, Number: seq, Key: key, Node: node, Locality: yarn.OffSwitch}
	}
	return out
}

// BenchmarkFork measures for how long a snapshot stops Apply. Budget: 1 ms for 1,000,000
// containers.
func BenchmarkFork(b *testing.B) {
	m := million()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Snapshot(); err != nil {
			b.Fatal(err)
		}
	}
}

// churner applies the allocation and completion of containers, on a node of its own.
type churner struct {
	m             *Machine
	index, number uint64
	node          yarn.NodeSlot
	events        int
	batch         []event.Event
}

func newChurner(b *testing.B, m *Machine) *churner {
	st, index := m.Fork()
	c := &churner{m: m, index: index, number: st.Meta.NextNumber(st.Apps.Get(st.Apps.Find(1))), node: st.Nodes.Next()}
	c.apply(b, &event.NodeRegistered{Node: c.node, ID: yarn.NodeID{Host: fmt.Sprint("new", index), Port: 1}, Rack: "/n",
		Total: yarn.NewResource(1<<30, 1<<20)})
	return c
}

func (c *churner) apply(b *testing.B, events ...event.Event) {
	c.index++
	c.events += len(events)
	if err, bad := c.m.Apply(entry(c.index, 1, 0, events...)).(error); bad {
		b.Fatal(err)
	}
}

// turn applies one entry with 1,000 events.
func (c *churner) turn(b *testing.B) {
	c.batch = c.batch[:0]
	for range 500 {
		c.batch = append(c.batch, &event.ContainerAllocated{App: 1, Number: c.number, Key: key, Node: c.node,
			Locality: yarn.OffSwitch},
			&event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: c.number}, Restore: true})
		c.number++
	}
	c.apply(b, c.batch...)
}

// BenchmarkApply measures the allocation and completion of containers in batches of 1,000 events,
// including decoding. Budget: 2 µs per event.
func BenchmarkApply(b *testing.B) {
	c := newChurner(b, million())
	b.ReportAllocs()
	for b.Loop() {
		c.turn(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
}

// BenchmarkFollowedApply is BenchmarkApply with a follower. The difference is the cost of keeping the
// changes.
func BenchmarkFollowedApply(b *testing.B) {
	c := newChurner(b, million())
	f, err := c.m.Follow()
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		c.turn(b)
		if _, err := f.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
}

// BenchmarkForkedApply applies entries of a given size and forks the state before each of them, so
// that the first change of each page copies the page. The events concern 1,000 nodes in random
// order. The difference to BenchmarkApply is the cost of the copies.
func BenchmarkForkedApply(b *testing.B) {
	for _, size := range []int{100, 500, 4000} {
		b.Run(fmt.Sprintf("events=%d", size), func(b *testing.B) {
			m := filled(fullness{nodes: 1000, containers: 50_000})
			st, index := m.Fork()
			number := st.Meta.NextNumber(st.Apps.Get(st.Apps.Find(1)))
			oldest, random := number, rand.New(rand.NewPCG(1, 0))
			var events []event.Event
			turn := func() {
				events = events[:0]
				for len(events) < size {
					events = append(events, &event.ContainerAllocated{App: 1, Number: number, Key: key,
						Node: yarn.NodeSlot(random.Uint32N(1000) + 1), Locality: yarn.OffSwitch})
					if number++; number > oldest+10_000 {
						events = append(events, &event.ContainerCompleted{
							Container: event.ContainerRef{App: 1, Attempt: 1, Number: oldest}})
						oldest++
					}
				}
				m.Fork()
				index++
				if err, bad := m.Apply(entry(index, 1, 0, events...)).(error); bad {
					b.Fatal(err)
				}
			}
			for number < oldest+10_000 {
				turn()
			}
			for b.Loop() {
				turn()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/event")
		})
	}
}

// BenchmarkRestore reads, verifies and indexes a snapshot of 1,000,000 containers. Budget: 2 s.
func BenchmarkRestore(b *testing.B) {
	pending, err := million().Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	s := &sink{}
	if err := pending.Persist(s); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		if err := New(Config{}).Restore(io.NopCloser(bytes.NewReader(s.Bytes()))); err != nil {
			b.Fatal(err)
		}
	}
}
