package hadoop

import (
	"context"
	"sync"
	"time"
)

// member makes calls repeatedly. beat starts one call and returns. At the end of the call the
// member calls done of its pacer.
type member interface{ beat() }

// pacer schedules the calls of members. With an interval, each member is due at its own phase of the
// interval. Without an interval, a member goes to the end of a queue after its call, and the head
// of the queue makes the next call.
type pacer struct {
	interval time.Duration
	parallel int
	late     func() // called if a member is due while its call is in flight

	mu      sync.Mutex
	idle    []int // queue of members without a call; a ring that begins at head
	head, n int
	out     int // number of calls in flight
	busy    []bool
	members []member
	closed  bool
	empty   chan struct{} // closed after the pacer is closed and no call is in flight
}

func newPacer(members []member, interval time.Duration, parallel int, late func()) *pacer {
	l := &pacer{interval: interval, parallel: parallel, late: late, members: members,
		busy: make([]bool, len(members)), idle: make([]int, len(members)), empty: make(chan struct{})}
	if parallel <= 0 || parallel > len(members) {
		l.parallel = len(members)
	}
	return l
}

// run schedules calls until the context ends.
func (l *pacer) run(ctx context.Context) {
	if l.interval > 0 {
		l.tick(ctx)
		return
	}
	for i := range l.members {
		l.idle[i] = i
	}
	l.mu.Lock()
	l.n = len(l.members)
	l.mu.Unlock()
	for range l.parallel {
		l.next()
	}
	<-ctx.Done()
}

// tick starts the call of each member at its phase.
func (l *pacer) tick(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	for i := int64(0); ; i++ {
		round, k := i/int64(len(l.members)), int(i%int64(len(l.members)))
		due := start.Add(time.Duration(round)*l.interval + l.interval*time.Duration(k)/time.Duration(len(l.members)))
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		} else if k == 0 && ctx.Err() != nil {
			return
		}
		l.send(k)
	}
}

// send starts the call of a member, unless its previous call is in flight.
func (l *pacer) send(i int) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	if l.busy[i] {
		l.mu.Unlock()
		l.late()
		return
	}
	l.busy[i] = true
	l.out++
	l.mu.Unlock()
	l.members[i].beat()
}

// done records that a member's call has ended.
func (l *pacer) done(i int) {
	l.mu.Lock()
	l.busy[i] = false
	l.out--
	if l.interval == 0 {
		l.idle[(l.head+l.n)%len(l.idle)] = i
		l.n++
	}
	if l.closed && l.out == 0 {
		close(l.empty)
	}
	l.mu.Unlock()
	if l.interval == 0 {
		l.next()
	}
}

// next starts the call of the head of the queue.
func (l *pacer) next() {
	l.mu.Lock()
	if l.closed || l.n == 0 {
		l.mu.Unlock()
		return
	}
	i := l.idle[l.head]
	l.head = (l.head + 1) % len(l.idle)
	l.n--
	l.busy[i] = true
	l.out++
	l.mu.Unlock()
	l.members[i].beat()
}

// stop starts no more calls and waits for all calls in flight. It returns false if the context ends
// first.
func (l *pacer) stop(ctx context.Context) bool {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		if l.out == 0 {
			close(l.empty)
		}
	}
	l.mu.Unlock()
	select {
	case <-l.empty:
		return true
	case <-ctx.Done():
		return false
	}
}
