package fsm

import (
	"context"
	"fmt"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
)

// Batch is one applied entry, as a watch returns it. Watches share the events and the changes, so
// callers must not change them.
type Batch struct {
	Index     uint64
	Term      uint64
	NowMillis int64 // the state's clock after the entry
	Events    []event.Event
	// Changes has what the events did, in order. Only a subscription of Follow gets it. The state may
	// have changed since, so another record may have the slot of a change.
	Changes []change.Change
}

// decodedBatches is the number of batches that stay decoded. Watches that keep up need not decode
// them. Decoded batches take several times the memory of their bytes.
const decodedBatches = 16

// recentBatch is a kept batch: its bytes, its events if it is one of the last decodedBatches, and its
// changes if a follower has not read them yet.
type recentBatch struct {
	index, term uint64
	nowMillis   int64
	data        []byte
	events      []event.Event
	changes     []change.Change
}

// recentRing keeps the last batches, bounded by number and bytes. The batches since the start of
// the machine have consecutive numbers; first is the number of the oldest kept batch.
type recentRing struct {
	batchesMax, bytesMax, changesMax int

	batches []recentBatch // those before start are dropped
	start   int
	bytes   int
	first   uint64
	floor   uint64 // index of the last batch or snapshot before the oldest kept
	moved   chan struct{}
	waiting bool

	followers []*Subscription
	bare      uint64 // the batches before this number have no changes any more
	changes   int    // number of changes kept
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
	for r.changes += len(b.changes); r.changes > r.changesMax && r.bare+1 < r.end(); {
		r.forget(r.bare + 1)
	}
	r.wake()
}

// at returns the kept batch with a number.
func (r *recentRing) at(number uint64) *recentBatch { return &r.batches[r.start+int(number-r.first)] }

// forget drops the changes of the batches before a number.
func (r *recentRing) forget(before uint64) {
	for ; r.bare < before; r.bare++ {
		b := r.at(r.bare)
		r.changes -= len(b.changes)
		b.changes = nil
	}
}

// forgetRead drops the changes that all followers have read. A follower that has lost some gets
// ErrTooOld and needs none any more.
func (r *recentRing) forgetRead() {
	read := r.end()
	for _, s := range r.followers {
		if s.next >= r.bare {
			read = min(read, s.next)
		}
	}
	r.forget(read)
}

// drop drops the oldest batch. When half of the slice is unused, drop moves the rest to the front.
func (r *recentRing) drop() {
	r.forget(r.first + 1)
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
	r.bare, r.changes = r.first, 0
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
	m       *Machine
	next    uint64 // number of the next batch
	follows bool   // reads changes
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
	for s.next > r.first && r.at(s.next-1).index > from {
		s.next--
	}
	return s, nil
}

// Follow subscribes to future batches and to what they change. The machine keeps changes until all
// followers have read them, so the caller must close the subscription.
func (m *Machine) Follow() (*Subscription, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, m.stopped()
	}
	r := &m.recent
	s := &Subscription{m: m, next: r.end(), follows: true}
	r.followers = append(r.followers, s)
	r.forgetRead()
	return s, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	r := &s.m.recent
	r.followers = slices.DeleteFunc(r.followers, func(f *Subscription) bool { return f == s })
	r.forgetRead()
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
	case s.next < r.first || s.follows && s.next < r.bare:
		return recentBatch{}, nil, &TooOldError{Oldest: r.floor}
	case s.next < r.end():
		b := *r.at(s.next)
		s.next++
		if s.follows {
			r.forgetRead()
		} else {
			b.changes = nil
		}
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
	return &Batch{Index: b.index, Term: b.term, NowMillis: b.nowMillis, Events: b.events, Changes: b.changes}, nil
}
