// Package yield delays goroutines where they race, so that rare orders of events become usual. It knows
// only random numbers; hooks.go of package sim says where goroutines are delayed.
package yield

import (
	"math/rand"
	"sync"
	"time"
)

// Dial says how long goroutines are delayed where they race: where raft writes logs and metrics,
// and at failpoints.
type Dial int

// The values of dial.
const (
	Off Dial = iota
	Low
	High // enough for hashicorp/raft #695
)

// Yielder draws the delays.
type Yielder struct {
	mu   sync.Mutex
	rng  *rand.Rand
	dial Dial
}

// New returns a yielder with a setting of its dial.
func New(seed int64, d Dial) *Yielder {
	return &Yielder{rng: rand.New(rand.NewSource(seed)), dial: d}
}

// Set sets the dial and returns its value before.
func (y *Yielder) Set(d Dial) (old Dial) {
	y.mu.Lock()
	defer y.mu.Unlock()
	old, y.dial = y.dial, d
	return old
}

// With sets the dial until the returned function is called.
func (y *Yielder) With(d Dial) (back func()) {
	old := y.Set(d)
	return func() { y.Set(old) }
}

// Yield delays the calling goroutine, in one of rare cases.
func (y *Yielder) Yield(rare int) {
	y.mu.Lock()
	var d time.Duration
	switch {
	case y.dial == Off || y.rng.Intn(rare) > 0:
	case y.dial == Low && y.rng.Intn(4) == 0:
		d = time.Duration(y.rng.Intn(20)) * time.Millisecond
		if y.rng.Intn(20) == 0 {
			d = time.Duration(y.rng.Intn(500)) * time.Millisecond
		}
	case y.dial == High && y.rng.Intn(3) == 0:
		d = time.Duration(y.rng.Intn(30)) * time.Millisecond
		if y.rng.Intn(5) == 0 {
			d = time.Duration(y.rng.Intn(1500)) * time.Millisecond
		}
	}
	y.mu.Unlock()
	if d > 0 {
		time.Sleep(d)
	}
}
