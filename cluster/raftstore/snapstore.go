package raftstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/internal/exitcode"
)

// SnapshotStore is raft's snapshot store behind the guard: what is written is verified while it is
// written, and only a verified snapshot comes into being, whether made here or received.
type SnapshotStore struct {
	g          *Guard
	inner      raft.SnapshotStore
	dir        string // the data directory; empty when the inner store was injected
	verify     func(io.Reader) error
	OnFinished func(meta raft.SnapshotMeta, took time.Duration) // called after each finished snapshot
	finishMu   Mutex                                            // held while one is finished, see snapSink.finish

	mu      sync.Mutex
	bad     map[string]bool // damaged ones, by id: raft must not see them
	writing map[string]bool // those that are being written, by id
}

var _ raft.SnapshotStore = (*SnapshotStore)(nil)

// Create begins a snapshot.
func (s *SnapshotStore) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration, confIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	if err := s.g.Check(); err != nil {
		return nil, err
	}
	inner, err := s.createSink(func() (raft.SnapshotSink, error) {
		return s.inner.Create(version, index, term, conf, confIndex, trans)
	})
	if err != nil {
		return nil, s.writeFailed(fmt.Errorf("create snapshot at %d: %w", index, err))
	}
	k := &snapSink{SnapshotSink: inner, s: s, meta: raft.SnapshotMeta{ID: inner.ID(), Index: index, Term: term}, start: time.Now()}
	if s.verify != nil {
		r, w := io.Pipe()
		k.pipe, k.verdict = w, make(chan error, 1)
		go func() { // ends with the pipe
			err := s.verify(r)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			_ = r.CloseWithError(fmt.Errorf("snapshot refused: %w", errOrDamaged(err)))
			k.verdict <- err
		}()
	}
	return k, nil
}

// createSink makes a sink. First it removes what the library has left of snapshots that it could
// not begin or finish.
func (s *SnapshotStore) createSink(create func() (raft.SnapshotSink, error)) (raft.SnapshotSink, error) {
	if s.dir == "" {
		return create()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	k, err := create()
	if err == nil && s.writing == nil {
		s.writing = map[string]bool{}
	}
	if err == nil {
		s.writing[k.ID()] = true
	}
	return k, err
}

// forgetWriting records that a snapshot is no longer written.
func (s *SnapshotStore) forgetWriting(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writing, id)
}

// sweep removes unfinished snapshots that nobody writes. The lock is held.
func (s *SnapshotStore) sweep() {
	left, _ := filepath.Glob(filepath.Join(s.dir, dirSnapshots, "*.tmp")) // the pattern is well-formed
	for _, path := range left {
		if s.writing[strings.TrimSuffix(filepath.Base(path), ".tmp")] {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			s.g.cfg.Logger.Warn("cannot remove an unfinished snapshot", "path", path, "error", err)
		}
	}
}

// errOrDamaged is err, or ErrDamaged for nil: a pipe needs some error.
func errOrDamaged(err error) error {
	if err == nil {
		return ErrDamaged
	}
	return err
}

// writeFailed ends the replica for a failed write, unless the disk is merely full or the system
// short of something: a snapshot can wait, and raft takes another one soon.
func (s *SnapshotStore) writeFailed(err error) error {
	switch {
	case IsShortage(err):
		s.g.ReportShortage(err)
	case !IsNoSpace(err):
		s.g.Fail(exitcode.Store, err)
	}
	return err
}

// List returns the snapshots that are not known to be damaged, newest first.
func (s *SnapshotStore) List() (list []*raft.SnapshotMeta, err error) {
	err = s.g.RetryShortage("list snapshots", func() error {
		list, err = s.list()
		return err
	})
	return list, err
}

// list is List without patience.
func (s *SnapshotStore) list() ([]*raft.SnapshotMeta, error) {
	list, err := s.inner.List()
	if err != nil {
		return nil, err
	}
	for _, err := range s.unread(list) { // in any order
		if IsShortage(err) {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(list, func(m *raft.SnapshotMeta) bool { return s.bad[m.ID] }), nil
}

// unread returns finished snapshots that are not in the library's list, and why: the library passes
// over those whose metadata it cannot read.
func (s *SnapshotStore) unread(list []*raft.SnapshotMeta) map[string]error {
	if s.dir == "" {
		return nil
	}
	files := snapshotFiles{filepath.Join(s.dir, dirSnapshots)}
	names, err := files.finished()
	if err != nil {
		return map[string]error{dirSnapshots: err}
	}
	out := map[string]error{}
	for _, name := range names {
		if slices.ContainsFunc(list, func(m *raft.SnapshotMeta) bool { return m.ID == name }) {
			continue
		}
		if _, err := files.meta(name); err != nil {
			out[name] = err
		}
	}
	return out
}

// markDamaged hides a damaged snapshot.
func (s *SnapshotStore) markDamaged(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == nil {
		s.bad = map[string]bool{}
	}
	s.bad[id] = true
}

// Open opens a snapshot whose checksum the inner store has compared.
func (s *SnapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	if err := s.g.Check(); err != nil {
		return nil, nil, err
	}
	var meta *raft.SnapshotMeta
	var r io.ReadCloser
	err := s.g.RetryShortage("open snapshot "+id, func() (err error) {
		meta, r, err = s.inner.Open(id)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return meta, &snapReader{ReadCloser: r, meta: *meta}, nil
}

// snapReader remembers which snapshot is read, for machine.Restore.
type snapReader struct {
	io.ReadCloser
	meta raft.SnapshotMeta
}

// RestoredMeta finds out which snapshot of this store raft has wrapped.
func RestoredMeta(r io.ReadCloser) (*raft.SnapshotMeta, error) {
	for {
		switch v := r.(type) {
		case *snapReader:
			return &v.meta, nil
		case raft.ReadCloserWrapper:
			r = v.WrappedReadCloser()
		default:
			return nil, fmt.Errorf("restore from a %T instead of the snapshot store", r)
		}
	}
}

// snapSink writes to the inner sink and to the verifier.
type snapSink struct {
	raft.SnapshotSink
	s       *SnapshotStore
	meta    raft.SnapshotMeta
	start   time.Time
	pipe    *io.PipeWriter
	verdict chan error
	own     *ownSnapshot // nil for a received one
	done    bool
	refused bool
}

// Write passes bytes on.
func (k *snapSink) Write(b []byte) (int, error) {
	if k.pipe != nil && !k.refused {
		if _, err := k.pipe.Write(b); err != nil {
			k.refused = true // Close says why
		}
	}
	n, err := k.SnapshotSink.Write(b)
	k.meta.Size += int64(n)
	if err != nil {
		err = k.s.writeFailed(fmt.Errorf("write snapshot at %d: %w", k.meta.Index, err))
	}
	return n, err
}

// Close finishes a verified snapshot and throws a refused one away.
func (k *snapSink) Close() error {
	if k.done {
		return nil
	}
	k.done = true
	defer k.s.forgetWriting(k.meta.ID)
	if k.pipe != nil {
		_ = k.pipe.Close()
		if err := <-k.verdict; err != nil {
			_ = k.SnapshotSink.Cancel()
			err = fmt.Errorf("snapshot at %d refused, the old state stays: %w", k.meta.Index, err)
			if errors.Is(err, ErrNewer) { // no other one will ever come
				k.s.g.Fail(exitcode.NotKnown, err)
			}
			return err
		}
	}
	if err := k.s.g.Check(); err != nil {
		return err
	}
	return k.finish()
}

// discard removes what is left of a snapshot that was not finished: raft does not count on it.
func (k *snapSink) discard() {
	if k.s.dir == "" {
		return
	}
	path := filepath.Join(k.s.dir, dirSnapshots, k.meta.ID)
	if err := errors.Join(os.RemoveAll(path), os.RemoveAll(path+".tmp")); err != nil {
		k.s.g.cfg.Logger.Warn("cannot remove an unfinished snapshot", "snapshot", k.meta.ID, "error", err)
	}
}

// Cancel throws the snapshot away.
func (k *snapSink) Cancel() error {
	if k.done {
		return nil
	}
	k.done = true
	defer k.s.forgetWriting(k.meta.ID)
	if k.pipe != nil {
		_ = k.pipe.CloseWithError(io.ErrUnexpectedEOF)
		<-k.verdict
	}
	return k.SnapshotSink.Cancel()
}
