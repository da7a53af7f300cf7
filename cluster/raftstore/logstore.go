package raftstore

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"

	"rmd/internal/exitcode"
	"rmd/internal/failpoint"
)

const (
	cacheEntries = 512
	cacheBytes   = 32 << 20
	deleteSlice  = 512 // entries per transaction, so that bbolt's writer lock is not held for long
)

// LogStore is raft's log behind the guard. It stores each entry in an envelope and caches the
// newest ones in memory.
//
// It is monotonic: raft clears it when it installs a snapshot (raft697_monotonic.go).
type LogStore struct {
	g        *Guard
	inner    raft.LogStore
	appendMu Mutex // held while entries are appended, or deleted at the end of the log
	deleteMu Mutex // held while entries are deleted: raft compacts and clears the log in different goroutines

	mu          sync.RWMutex
	ring        [cacheEntries]*raft.Log
	bytes       int
	first, last uint64 // 0 if the log is empty
	lastTerm    uint64
	noop        uint64 // index and term of the newest no-op, which is the first entry of each leader
	noopTerm    uint64
	stored      int64  // bytes stored since StoredBytes was last reset
	OnStored    func() // called after each write; may be nil
}

var (
	_ raft.LogStore          = (*LogStore)(nil)
	_ raft.MonotonicLogStore = (*LogStore)(nil)
)

// openLog reads the bounds of the inner store.
func openLog(g *Guard, inner raft.LogStore) (*LogStore, error) {
	s := &LogStore{g: g, inner: inner, appendMu: NewMutex(), deleteMu: NewMutex()}
	var err error
	if s.first, err = inner.FirstIndex(); err != nil {
		return nil, fmt.Errorf("first index of the log: %w", err)
	}
	if s.last, err = inner.LastIndex(); err != nil {
		return nil, fmt.Errorf("last index of the log: %w", err)
	}
	if s.last > 0 {
		var l raft.Log
		if err := s.Peek(s.last, &l); err != nil {
			return nil, err
		}
		s.lastTerm = l.Term
	}
	return s, nil
}

// FirstIndex returns the first index, or 0 if the log is empty.
func (s *LogStore) FirstIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.first, nil
}

// LastIndex returns the last index, or 0 if the log is empty.
func (s *LogStore) LastIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last, nil
}

// Tail returns the last index and its term.
func (s *LogStore) Tail() (index, term uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last, s.lastTerm
}

// empty reports whether the log has no entry.
func (s *LogStore) empty() bool {
	last, _ := s.Tail()
	return last == 0
}

// LastNoop returns the index and term of the newest no-op stored since the start.
func (s *LogStore) LastNoop() (index, term uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.noop, s.noopTerm
}

// GetLog reads an entry for raft. A damaged entry stops the replica, so it is neither applied nor
// sent.
func (s *LogStore) GetLog(index uint64, out *raft.Log) error {
	if s.g.Check() != nil {
		s.g.halt()
	}
	err := s.Peek(index, out)
	if err != nil && !errors.Is(err, raft.ErrLogNotFound) {
		s.g.Fail(exitcode.Store, err)
		s.g.halt()
	}
	return err
}

// Peek reads and verifies an entry. It returns ErrLogNotFound unwrapped, since raft compares it
// with ==.
func (s *LogStore) Peek(index uint64, out *raft.Log) error {
	s.mu.RLock()
	c := s.ring[index%cacheEntries]
	s.mu.RUnlock()
	if c != nil && c.Index == index {
		*out = *c
		return nil
	}
	var in raft.Log
	if err := s.inner.GetLog(index, &in); errors.Is(err, raft.ErrLogNotFound) {
		return raft.ErrLogNotFound
	} else if err != nil {
		return fmt.Errorf("read log entry %d: %w", index, err)
	}
	return unseal(index, &in, out)
}

// Has reports whether the log has an entry with an index and a term.
func (s *LogStore) Has(index, term uint64) bool {
	var l raft.Log
	return s.Peek(index, &l) == nil && l.Term == term
}

// StoreLog stores one entry.
func (s *LogStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs stores entries that follow the last one without a gap.
func (s *LogStore) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	s.appendMu.Lock()
	defer s.appendMu.Unlock()
	sealed := make([]*raft.Log, len(logs))
	next := logs[0].Index
	for i, l := range logs {
		if l.Index != next+uint64(i) {
			return s.failWrite(fmt.Errorf("store log entries: index %d instead of %d", l.Index, next+uint64(i)))
		}
		sealed[i] = seal(l)
	}
	if last, _ := s.Tail(); last != 0 && next != last+1 {
		return s.failWrite(fmt.Errorf("store log entries from %d after %d: they would leave a gap or overwrite an entry",
			next, last))
	}
	failpoint.Hit(failpoint.StoreEntries)
	if err := s.g.write(fmt.Sprintf("store %d log entries from %d", len(logs), next),
		func() error { return s.inner.StoreLogs(sealed) }); err != nil {
		s.g.halt()
	}
	failpoint.Hit(failpoint.EntriesStored)
	if s.OnStored != nil {
		defer s.OnStored()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == 0 {
		s.first = next
	}
	for _, l := range logs {
		s.cache(l)
		s.stored += int64(len(l.Data))
		if l.Type == raft.LogNoop {
			s.noop, s.noopTerm = l.Index, l.Term
		}
	}
	s.last, s.lastTerm = logs[len(logs)-1].Index, logs[len(logs)-1].Term
	return nil
}

// failWrite stops the replica because of a write that must never be requested.
func (s *LogStore) failWrite(err error) error {
	s.g.Fail(exitcode.Store, err)
	s.g.halt()
	return err
}

// cache puts an entry into the ring. Above the byte limit it drops the oldest entries. The caller
// holds s.mu.
func (s *LogStore) cache(l *raft.Log) {
	slot := &s.ring[l.Index%cacheEntries]
	if *slot != nil {
		s.bytes -= len((*slot).Data)
	}
	*slot = l
	s.bytes += len(l.Data)
	for i := uint64(1); s.bytes > cacheBytes && i < cacheEntries; i++ {
		old := &s.ring[(l.Index+i)%cacheEntries] // the oldest entry is in the slot after the newest
		if *old != nil {
			s.bytes -= len((*old).Data)
			*old = nil
		}
	}
}

// DeleteRange removes entries at the head (after a snapshot was taken), at the tail (divergent
// entries) or all (a snapshot was installed). It deletes in slices, from the first entry if a tail
// remains, otherwise from the last. So a crash between two slices leaves neither a hole in the log
// nor a gap after the snapshot.
func (s *LogStore) DeleteRange(lo, hi uint64) error {
	s.deleteMu.Lock()
	defer s.deleteMu.Unlock()
	s.mu.RLock()
	first, last := s.first, s.last
	s.mu.RUnlock()
	if first == 0 || lo > hi || hi < first || lo > last {
		return nil
	}
	if hi >= last { // a compaction that keeps nothing runs concurrently with appends
		s.appendMu.Lock()
		defer s.appendMu.Unlock()
		last, _ = s.Tail()
	}
	lo, hi = max(lo, first), min(hi, last)
	s.uncache(lo, hi)
	head := lo == first && hi < last
	for lo <= hi {
		a, b := lo, min(hi, lo+deleteSlice-1)
		if !head {
			a, b = max(lo, hi-min(hi, deleteSlice-1)), hi
		}
		if err := s.g.write(fmt.Sprintf("delete log entries %d to %d", a, b),
			func() error { return s.inner.DeleteRange(a, b) }); err != nil {
			s.g.halt()
		}
		if err := s.moveBounds(a, b); err != nil {
			return s.failWrite(err)
		}
		failpoint.Hit(failpoint.EntriesDeleted)
		if head {
			lo = b + 1
		} else {
			hi = a - 1
		}
	}
	return nil
}

// uncache removes entries from the ring.
func (s *LogStore) uncache(lo, hi uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.ring {
		if l != nil && lo <= l.Index && l.Index <= hi {
			s.bytes -= len(l.Data)
			s.ring[i] = nil
		}
	}
}

// moveBounds updates the bounds after the entries a to b were deleted.
func (s *LogStore) moveBounds(a, b uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a <= s.first && b >= s.last:
		s.first, s.last, s.lastTerm = 0, 0, 0
		return nil
	case a <= s.first:
		s.first = b + 1
		return nil
	}
	s.last = a - 1
	var in, l raft.Log
	if err := s.inner.GetLog(s.last, &in); err != nil {
		return fmt.Errorf("read log entry %d: %w", s.last, err)
	}
	if err := unseal(s.last, &in, &l); err != nil {
		return err
	}
	s.lastTerm = l.Term
	return nil
}

// StoredBytes returns the number of bytes stored since the last call with reset.
func (s *LogStore) StoredBytes(reset bool) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.stored
	if reset {
		s.stored = 0
	}
	return n
}
