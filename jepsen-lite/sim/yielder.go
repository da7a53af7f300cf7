package sim

import (
	"math/rand"
	"sync"
	"time"
)

// dial says how long goroutines are delayed where they race: where raft writes logs and metrics,
// and at failpoints.
type dial int

// The values of dial.
const (
	dialOff dial = iota
	dialLow
	dialHigh // enough for hashicorp/raft #695
)

// yielder draws the delays.
type yielder struct {
	mu   sync.Mutex
	rng  *rand.Rand
	dial dial
}

// newYielder returns a yielder with a setting of its dial.
func newYielder(seed int64, d dial) *yielder {
	return &yielder{rng: rand.New(rand.NewSource(seed)), dial: d}
}

// setDial sets the dial and returns its value before.
func (y *yielder) setDial(d dial) (old dial) {
	y.mu.Lock()
	defer y.mu.Unlock()
	old, y.dial = y.dial, d
	return old
}

// withDial sets the dial until the returned function is called.
func (y *yielder) withDial(d dial) (back func()) {
	old := y.setDial(d)
	return func() { y.setDial(old) }
}

// yield delays the calling goroutine, in one of rare cases.
func (y *yielder) yield(rare int) {
	y.mu.Lock()
	var d time.Duration
	switch {
	case y.dial == dialOff || y.rng.Intn(rare) > 0:
	case y.dial == dialLow && y.rng.Intn(4) == 0:
		d = time.Duration(y.rng.Intn(20)) * time.Millisecond
		if y.rng.Intn(20) == 0 {
			d = time.Duration(y.rng.Intn(500)) * time.Millisecond
		}
	case y.dial == dialHigh && y.rng.Intn(3) == 0:
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
