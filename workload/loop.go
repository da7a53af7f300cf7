package workload

import (
	"container/heap"
	"time"
)

// loop orders all work. Functions that are ready run first, in the order in which they were added.
// Then timers fire in order of time and age. One goroutine owns the loop. Times are nanoseconds
// since the start: real in Run, virtual in Simulate.
type loop struct {
	now    int64
	seq    uint64
	timers timerHeap
	ready  []func()
	head   int
}

// timer is a function to call at a time. A late timer fires after all others with the same time.
type timer struct {
	at    int64
	late  bool
	seq   uint64
	index int // index in the heap; −1: not in the heap
	fn    func()
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.late != b.late:
		return b.late
	}
	return a.seq < b.seq
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}

func (l *loop) at(when int64, late bool, fn func()) *timer {
	l.seq++
	t := &timer{at: max(when, l.now), late: late, seq: l.seq, fn: fn}
	heap.Push(&l.timers, t)
	return t
}

func (l *loop) after(d time.Duration, fn func()) *timer { return l.at(l.now+int64(d), false, fn) }

// cancel cancels a timer. It does nothing for nil and for a timer that has fired.
func (l *loop) cancel(t *timer) {
	if t != nil && t.index >= 0 {
		heap.Remove(&l.timers, t.index)
	}
}

// addReady adds a function at the end of the ready ones.
func (l *loop) addReady(fn func()) { l.ready = append(l.ready, fn) }

// drain runs the ready functions, including those that they add.
func (l *loop) drain() {
	for l.head < len(l.ready) {
		fn := l.ready[l.head]
		l.ready[l.head] = nil
		l.head++
		fn()
		if l.head > 1024 && l.head*2 > len(l.ready) {
			l.ready = append(l.ready[:0], l.ready[l.head:]...)
			l.head = 0
		}
	}
	l.ready, l.head = l.ready[:0], 0
}

// next returns the time of the first timer, or false if there is none.
func (l *loop) next() (int64, bool) {
	if len(l.timers) == 0 {
		return 0, false
	}
	return l.timers[0].at, true
}

// fire runs the first timer.
func (l *loop) fire() {
	t := heap.Pop(&l.timers).(*timer)
	l.now = max(l.now, t.at)
	t.fn()
}
