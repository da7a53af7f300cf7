package sim

import (
	"fmt"
	"hash/crc32"
	"time"
)

// trace sums up what happened in a run, each event with its nanosecond: two runs are
// the same to the bit exactly when theirs are, as far as the checker sees.
type trace struct {
	sum   uint64
	steps int
}

// add enters one event.
func (t *trace) add(at time.Duration, text string, numbers ...uint64) {
	t.mix(uint64(at))
	t.mix(uint64(crc32.Checksum([]byte(text), castagnoli))<<32 | uint64(len(text)))
	for _, n := range numbers {
		t.mix(n)
	}
	t.steps++
}

// mix folds a number in.
func (t *trace) mix(v uint64) {
	t.sum = (t.sum ^ v) * 0x9e3779b97f4a7c15
	t.sum ^= t.sum >> 29
}

// String is the sum in hexadecimal.
func (t trace) String() string { return fmt.Sprintf("%016x", t.sum) }
