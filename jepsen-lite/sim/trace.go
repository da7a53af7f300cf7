package sim

import (
	"fmt"
	"hash/fnv"
	"time"
)

// trace sums up what happened in a run, each event with its nanosecond: two runs are
// the same to the bit exactly when theirs are, as far as the checker sees.
type trace struct {
	sum   uint64
	steps int
}

// add enters one event.
func (t *trace) add(at time.Duration, what ...any) {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, t.sum, int64(at), what) // it never fails
	t.sum = h.Sum64()
	t.steps++
}

// String is the sum in hexadecimal.
func (t trace) String() string { return fmt.Sprintf("%016x", t.sum) }
