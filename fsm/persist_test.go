package fsm

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/yarn"
)

// churner applies containers' whole lives, on a node of their own.
type churner struct {
	m             *Machine
	index, number uint64
	node          uint32
	events        int
}

func newChurner(b *testing.B, m *Machine) *churner {
	st, index := m.Fork()
	c := &churner{m: m, index: index, number: st.NextNumber(st.Apps.Get(st.App(1))), node: uint32(st.NextNode())}
	c.apply(b, &event.NodeRegistered{Node: c.node, ID: yarn.NodeID{Host: fmt.Sprint("persist", index), Port: 1}, Rack: "/n", Total: yarn.NewResource(1<<30, 1<<20)})
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
	events := make([]event.Event, 0, 1000)
	for range 500 {
		events = append(events, &event.ContainerAllocated{App: 1, Number: c.number, Key: key, Node: c.node, Locality: yarn.OffSwitch},
			&event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: c.number}, Restore: true})
		c.number++
	}
	c.apply(b, events...)
}

// fileSink is a raft.SnapshotSink of one file.
type fileSink struct {
	*os.File
	n int
}

// Write implements io.Writer.
func (s *fileSink) Write(b []byte) (int, error) { s.n += len(b); return s.File.Write(b) }

// ID implements raft.SnapshotSink.
func (s *fileSink) ID() string { return s.Name() }

// Cancel implements raft.SnapshotSink.
func (s *fileSink) Cancel() error { return s.Close() }

// Close implements io.Closer; what was written is on the disk then.
func (s *fileSink) Close() error {
	if err := s.Sync(); err != nil {
		return err
	}
	return s.File.Close()
}

var _ io.WriteCloser = (*fileSink)(nil)

// BenchmarkPersist writes a snapshot of 1,000,000 containers to a file, synced,
// while entries are applied without end. Budgets: 200 MB/s, and four fifths of
// the rate of applying without it ("kept").
func BenchmarkPersist(b *testing.B) {
	c := newChurner(b, million())
	for range 300 { // warm
		c.turn(b)
	}
	began, from := time.Now(), c.events
	for time.Since(began) < 2*time.Second {
		c.turn(b)
	}
	alone := float64(c.events-from) / time.Since(began).Seconds()
	size, during := 0, 0
	b.ResetTimer()
	for range b.N {
		file, err := os.Create(filepath.Join(b.TempDir(), "snapshot"))
		if err != nil {
			b.Fatal(err)
		}
		pending, err := c.m.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		sink, done, from := &fileSink{File: file}, make(chan error, 1), c.events
		go func() { done <- pending.Persist(sink) }()
		for running := true; running; {
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				running = false
			default:
				c.turn(b)
			}
		}
		during += c.events - from
		size = sink.n
	}
	b.StopTimer()
	b.SetBytes(int64(size))
	b.ReportMetric(float64(during)/b.Elapsed().Seconds()/alone, "kept")
}
