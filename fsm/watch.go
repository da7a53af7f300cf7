package fsm

import (
	"context"
	"fmt"

	"rmd/fsm/event"
)

// Batch is one applied entry as a watch sees it. Its events are shared with
// other watches: nobody may change them.
type Batch struct {
	Index     uint64
	Term      uint64
	NowMillis int64 // the state's clock after it
	Events    []event.Event
}

// decodedBatches is how many batches are kept decoded. A watch that keeps up
// reads them as they were applied; they take several times their bytes.
const decodedBatches = 16

// recentBatch is a batch as it is kept: its bytes, and while it is one of the
// last few its events.
type recentBatch struct {
	index, term uint64
	nowMillis   int64
	data        []byte
	events      []event.Event
}

// recentRing keeps the last batches within bounds of number and bytes. Batches
// are counted from the machine's start; first is the number of the oldest kept.
type recentRing struct {
	batchesMax, bytesMax int

	batches []recentBatch // those before start are gone
	start   int
	bytes   int
	first   uint64
	floor   uint64 // index of the last batch or snapshot before the oldest kept
	moved   chan struct{}
	waiting bool
}

func (r *recentRing) add(b recentBatch) {
	r.batches = append(r.batches, b)
	r.bytes += len(b.data)
	if r.len() > decodedBatches {
		r.batches[len(r.batches)-1-decodedBatches].events = nil
	}
	for r.len() > 1 && (r.len() > r.batchesMax || r.bytes > r.bytesMax) {
		r.drop()
	}
	r.wake()
}

// drop forgets the oldest batch and closes the gap when it has become half.
func (r *recentRing) drop() {
	b := &r.batches[r.start]
	r.floor = b.index
	r.bytes -= len(b.data)
	*b = recentBatch{}
	r.start++
	r.first++
	if r.start*2 >= len(r.batches) {
		n := copy(r.batches, r.batches[r.start:])
		clear(r.batches[n:])
		r.batches, r.start = r.batches[:n], 0
	}
}

// reset forgets everything: the state now comes from a snapshot at floor. The
// number left out makes every subscriber resync, also one that had read all.
func (r *recentRing) reset(floor uint64) {
	r.first = r.end() + 1
	clear(r.batches)
	r.batches, r.start, r.bytes, r.floor = r.batches[:0], 0, 0, floor
	r.wake()
}

func (r *recentRing) len() int { return len(r.batches) - r.start }

// end is the number of the next batch.
func (r *recentRing) end() uint64 { return r.first + uint64(r.len()) }

// wake tells subscribers that wait.
func (r *recentRing) wake() {
	if r.waiting {
		close(r.moved)
		r.moved, r.waiting = make(chan struct{}), false
	}
}

// Subscription reads applied batches in order. It holds no queue of its own: a
// watcher that falls behind what is kept gets ErrTooOld and must start again.
type Subscription struct {
	m    *Machine
	next uint64 // number of the next batch
}

// Watch subscribes to the batches after index from, which the watcher has;
// 0 is from now on. A TooOldError tells where a watch may start.
func (m *Machine) Watch(from uint64) (*Subscription, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, m.stopped()
	}
	r := &m.recent
	s := &Subscription{m: m, next: r.end()}
	if from == 0 {
		return s, nil
	}
	if from < r.floor {
		return nil, &TooOldError{Oldest: r.floor}
	}
	for s.next > r.first && r.batches[r.start+int(s.next-r.first)-1].index > from {
		s.next--
	}
	return s, nil
}

// Next returns the next batch, waiting for it if need be.
func (s *Subscription) Next(ctx context.Context) (*Batch, error) {
	for {
		kept, moved, err := s.take()
		switch {
		case err != nil:
			return nil, err
		case moved == nil:
			return kept.decode()
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns the next batch, or a channel that is closed when there is news.
func (s *Subscription) take() (recentBatch, <-chan struct{}, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	r := &s.m.recent
	switch {
	case s.next < r.first:
		return recentBatch{}, nil, &TooOldError{Oldest: r.floor}
	case s.next < r.end():
		b := r.batches[r.start+int(s.next-r.first)]
		s.next++
		return b, nil, nil
	case s.m.failed != nil:
		return recentBatch{}, nil, s.m.stopped()
	}
	r.waiting = true
	return recentBatch{}, r.moved, nil
}

func (b recentBatch) decode() (*Batch, error) {
	if b.events == nil {
		d, err := event.Decode(b.data)
		if err != nil {
			return nil, fmt.Errorf("decode batch at index %d: %w", b.index, err) // it was applied
		}
		b.events = d.Events
	}
	return &Batch{Index: b.index, Term: b.term, NowMillis: b.nowMillis, Events: b.events}, nil
}
