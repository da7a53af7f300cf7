package snapshot

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"rmd/fsm/state"
)

const benchContainers = 1_000_000

var million = sync.OnceValue(func() *state.State { return large(&testing.B{}, benchContainers) })

// BenchmarkSnapshotWrite writes 1,000,000 containers. Budget: 0.5 s, of which the encoding takes
// 0.1 s and the checksums take the rest.
func BenchmarkSnapshotWrite(b *testing.B) {
	st := million()
	n := counter(0)
	b.ReportAllocs()
	for b.Loop() {
		n = 0
		if err := Write(&n, header(st), st); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(n))
}

// BenchmarkSnapshotRead reads, verifies and indexes 1,000,000 containers. Budget: 1 s.
func BenchmarkSnapshotRead(b *testing.B) {
	data := written(b, million())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Read(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	st := million()
	for b.Loop() {
		Sum(st)
	}
}

type counter int

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

var _ io.Writer = new(counter)
