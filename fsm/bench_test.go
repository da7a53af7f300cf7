package fsm

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

const (
	benchContainers = 1_000_000
	perApp, perNode = 5000, 50
)

var key = yarn.SchedulerKey{Priority: 1}

// million is a machine with 1,000,000 containers on 20,000 nodes.
var million = sync.OnceValue(func() *Machine {
	m := New(Config{})
	index := uint64(0)
	apply := func(events ...event.Event) {
		index++
		if err, bad := m.Apply(entry(index, 1, 0, events...)).(error); bad {
			panic(err)
		}
	}
	apply(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1, Level: 1},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}})
	for n := range benchContainers / perNode {
		apply(&event.NodeRegistered{Node: uint32(n + 1), ID: yarn.NodeID{Host: fmt.Sprintf("h%d", n), Port: 1},
			Rack: fmt.Sprintf("/r%d", n/40), Total: yarn.NewResource(100<<10, 100)})
	}
	for a := range benchContainers / perApp {
		app := uint32(a + 1)
		apply(&event.ApplicationSubmitted{App: app, User: "u", Queue: "root.a", Unmanaged: true},
			&event.AttemptStarted{App: app, Attempt: 1}, &event.AttemptActivated{App: app},
			&event.AskChanged{App: app, Key: key, Name: yarn.Any, Count: perApp + 1<<40, Size: yarn.NewResource(1024, 1)})
		for i := 0; i < perApp; i += 1000 {
			apply(granted(app, uint64(i+1), 1000)...)
		}
	}
	return m
})

// granted is n containers of an application, filling its nodes in order.
func granted(app uint32, number uint64, n int) []event.Event {
	out := make([]event.Event, n)
	for i := range out {
		seq := number + uint64(i)
		node := uint32(int(app-1)*perApp/perNode + int(seq-1)/perNode + 1)
		out[i] = &event.ContainerAllocated{App: app, Number: seq, Key: key, Node: node, Locality: yarn.OffSwitch}
	}
	return out
}

// The pause of a snapshot. Budget: 1 ms for 1,000,000 containers.
func BenchmarkFork(b *testing.B) {
	m := million()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Snapshot(); err != nil {
			b.Fatal(err)
		}
	}
}

// churner applies containers' whole lives, on a node of their own.
type churner struct {
	m             *Machine
	index, number uint64
	node          uint32
	events        int
	batch         []event.Event
}

func newChurner(b *testing.B, m *Machine) *churner {
	st, index := m.Fork()
	c := &churner{m: m, index: index, number: st.NextNumber(st.Apps.Get(st.App(1))), node: uint32(st.NextNode())}
	c.apply(b, &event.NodeRegistered{Node: c.node, ID: yarn.NodeID{Host: fmt.Sprint("new", index), Port: 1}, Rack: "/n", Total: yarn.NewResource(1<<30, 1<<20)})
	return c
}

func (c *churner) apply(b *testing.B, events ...event.Event) {
	c.index++
	c.events += len(events)
	if err, bad := c.m.Apply(entry(c.index, 1, 0, events...)).(error); bad {
		b.Fatal(err)
	}
}

// turn is one entry of 1,000 events.
func (c *churner) turn(b *testing.B) {
	c.batch = c.batch[:0]
	for range 500 {
		c.batch = append(c.batch, &event.ContainerAllocated{App: 1, Number: c.number, Key: key, Node: c.node, Locality: yarn.OffSwitch},
			&event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: c.number}, Restore: true})
		c.number++
	}
	c.apply(b, c.batch...)
}

// One container allocated and completed, in batches of 1,000 events, decoding
// included. Budget: 2 µs an event.
func BenchmarkApply(b *testing.B) {
	c := newChurner(b, million())
	b.ReportAllocs()
	for b.Loop() {
		c.turn(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
}

// A snapshot of 1,000,000 containers read, verified and indexed. Budget: 2 s.
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
