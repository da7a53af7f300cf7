package fsm

import (
	"context"
	"fmt"

	"rmd/fsm/event"
)

// Batch is one applied entry, as a watch returns it. Watches share the events, so callers must not
// change them.
type Batch struct {
	Index     uint64
	Term      uint64
	NowMillis int64 // the state's clock after the entry
	Events    []event.Event
}

// decodedBatches is the number of batches that stay decoded. Watches that keep up need not decode
// them. Decoded batches take several times the memory of their bytes.
const decodedBatches = 16

// recentBatch is a kept batch: its bytes and, if it is one of the last decodedBatches, its events.
type recentBatch struct {
	index, term uint64
	nowMillis   int64
	data        []byte
	events      []event.Event
}

// recentRing keeps the last batches, bounded by number and bytes. The batches since the start of
// the machine have consecutive numbers; first is the number of the oldest kept batch.
type recentRing struct {
	batchesMax, bytesMax int

	batches []recentBatch // those before start are dropped
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

// drop drops the oldest batch. When half of the slice is unused, drop moves the rest to the front.
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

// reset drops all batches after the state was replaced by a snapshot with index floor. It skips a
// number, so that every subscriber gets ErrTooOld, even one that has read all batches.
func (r *recentRing) reset(floor uint64) {
	r.first = r.end() + 1
	clear(r.batches)
	r.batches, r.start, r.bytes, r.floor = r.batches[:0], 0, 0, floor
	r.wake()
}

func (r *recentRing) len() int { return len(r.batches) - r.start }

// end returns the number of the next batch.
func (r *recentRing) end() uint64 { return r.first + uint64(r.len()) }

// wake wakes all waiting subscribers.
func (r *recentRing) wake() {
	if r.waiting {
		close(r.moved)
		r.moved, r.waiting = make(chan struct{}), false
	}
}

// Subscription reads applied batches in order. It has no queue of its own: a subscriber that falls
// behind the kept batches gets ErrTooOld and must start again.
type Subscription struct {
	m    *Machine
	next uint64 // number of the next batch
}

// Watch subscribes to the batches after index from, or to future batches if from is 0. It returns a
// TooOldError if batches after from are no longer kept.
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

// Next returns the next batch. It waits until there is one or ctx is done.
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

// take returns the next batch, or a channel that will be closed when there is one.
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
			return nil, fmt.Errorf("decode batch at index %d: %w", b.index, err) // cannot happen: the batch was applied
		}
		b.events = d.Events
	}
	return &Batch{Index: b.index, Term: b.term, NowMillis: b.nowMillis, Events: b.events}, nil
}
