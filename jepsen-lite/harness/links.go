package harness

import (
	"math/rand/v2"
	"sync"
	"time"
)

// link is one direction between two ends.
type link struct{ from, to string }

// links are the faults of all links. The channel changed is closed at each change and wakes those
// who wait.
type links struct {
	mu      sync.Mutex
	cut     map[link]Cut
	shape   map[link]Shape
	changed chan struct{}
}

func newLinks() *links {
	return &links{cut: map[link]Cut{}, shape: map[link]Shape{}, changed: make(chan struct{})}
}

// state returns the state of a link, and a channel that is closed at the next change of any link.
func (l *links) state(k link) (Cut, Shape, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut[k], l.shape[k], l.changed
}

func (l *links) setCut(k link, how Cut) {
	l.change(func() { l.cut[k] = how })
}

func (l *links) setShape(k link, s Shape) {
	l.change(func() { l.shape[k] = s })
}

func (l *links) heal() {
	l.change(func() {
		clear(l.cut)
		clear(l.shape)
	})
}

func (l *links) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits while a link drops. It returns false if the link rejects or done is closed first.
func (l *links) await(k link, done <-chan struct{}) bool {
	for {
		how, _, changed := l.state(k)
		switch how {
		case Pass:
			return true
		case Reject:
			return false
		}
		select {
		case <-changed:
		case <-done:
			return false
		}
	}
}

// delay returns the delay of a piece of n bytes on a link.
func (s Shape) delay(n int) time.Duration {
	d := s.Delay
	if s.Jitter > 0 {
		d += rand.N(s.Jitter)
	}
	if s.Stall > 0 && rand.Float64() < s.Stall {
		d += s.StallFor
	}
	return d
}

// sendTime returns how long a piece of n bytes occupies the link.
func (s Shape) sendTime(n int) time.Duration {
	if s.Rate <= 0 {
		return 0
	}
	return time.Duration(n) * time.Second / time.Duration(s.Rate)
}
