package fsm

import (
	"container/heap"
	"context"
	"time"
)

// WaitApplied waits until the effect of every entry up to index is in this machine's state, or
// until ctx is done.
//
// Raft passes commands and configurations to the FSM, but not no-ops and barriers, so the Machine
// may never see the index. WaitApplied therefore also polls Config.AppliedIndex. When the index is
// that of a command, it returns as soon as the command is applied.
func (m *Machine) WaitApplied(ctx context.Context, index uint64) error {
	m.mu.Lock()
	if m.failed != nil {
		defer m.mu.Unlock()
		return m.stopped()
	}
	if index <= m.index {
		m.mu.Unlock()
		return nil
	}
	w := &waiter{index: index, done: make(chan struct{})}
	heap.Push(&m.waiters, w)
	m.mu.Unlock()
	err := m.await(ctx, w)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiters.remove(w)
	if err == nil && m.failed != nil {
		return m.stopped()
	}
	return err
}

// await waits until the waiter is released, or until AppliedIndex reaches its index. It polls
// AppliedIndex at growing intervals.
func (m *Machine) await(ctx context.Context, w *waiter) error {
	if m.cfg.AppliedIndex == nil {
		select {
		case <-w.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	pause := m.cfg.PollInterval
	t := time.NewTimer(pause)
	defer t.Stop()
	for {
		select {
		case <-w.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
			if m.cfg.AppliedIndex() >= w.index {
				return nil
			}
			pause = min(2*pause, 32*m.cfg.PollInterval)
			t.Reset(pause)
		}
	}
}

// waiter is a caller that waits for an index.
type waiter struct {
	index uint64
	place int // in the heap; -1 when it is not in the heap
	done  chan struct{}
}

// waiterHeap is a heap of waiters, ordered by index.
type waiterHeap struct{ all []*waiter }

// release wakes all waiters up to an index.
func (h *waiterHeap) release(index uint64) {
	for len(h.all) > 0 && h.all[0].index <= index {
		close(heap.Pop(h).(*waiter).done)
	}
}

func (h *waiterHeap) remove(w *waiter) {
	if w.place >= 0 {
		heap.Remove(h, w.place)
	}
}

// Len implements heap.Interface.
func (h *waiterHeap) Len() int { return len(h.all) }

// Less implements heap.Interface.
func (h *waiterHeap) Less(i, j int) bool { return h.all[i].index < h.all[j].index }

// Swap implements heap.Interface.
func (h *waiterHeap) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	h.all[i].place, h.all[j].place = i, j
}

// Push implements heap.Interface.
func (h *waiterHeap) Push(x any) {
	w := x.(*waiter)
	w.place = len(h.all)
	h.all = append(h.all, w)
}

// Pop implements heap.Interface.
func (h *waiterHeap) Pop() any {
	last := len(h.all) - 1
	w := h.all[last]
	h.all[last] = nil
	h.all, w.place = h.all[:last], -1
	return w
}
