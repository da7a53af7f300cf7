package sim

import (
	"fmt"
	"hash/crc32"
	"time"
)

// trace is a checksum of all events that the checker sees, each with its virtual nanosecond. Two
// runs with the same trace are the same for the checker.
type trace struct {
	sum   uint64
	steps int
}

// add adds one event.
func (t *trace) add(at time.Duration, text string, numbers ...uint64) {
	t.mix(uint64(at))
	t.mix(uint64(crc32.Checksum([]byte(text), castagnoli))<<32 | uint64(len(text)))
	for _, n := range numbers {
		t.mix(n)
	}
	t.steps++
}

// mix adds a number to the checksum.
func (t *trace) mix(v uint64) {
	t.sum = (t.sum ^ v) * 0x9e3779b97f4a7c15
	t.sum ^= t.sum >> 29
}

// String returns the checksum in hexadecimal.
func (t trace) String() string { return fmt.Sprintf("%016x", t.sum) }
