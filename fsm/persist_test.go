package fsm

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// fileSink is a raft.SnapshotSink that writes to a file.
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

// Close implements io.Closer. It syncs the file first.
func (s *fileSink) Close() error {
	if err := s.Sync(); err != nil {
		return err
	}
	return s.File.Close()
}

var _ io.WriteCloser = (*fileSink)(nil)

// BenchmarkPersist writes a snapshot of 1,000,000 containers to a file and syncs it while another
// goroutine applies entries. Budgets: 200 MB/s, and four fifths of the rate of applying without a
// snapshot ("kept").
func BenchmarkPersist(b *testing.B) {
	c := newChurner(b, million())
	for range 300 { // warm up
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
