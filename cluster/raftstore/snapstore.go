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

// SnapshotStore is raft's snapshot store behind the guard. It verifies a snapshot while it is
// written. Only a verified snapshot becomes visible, whether it was taken here or received.
type SnapshotStore struct {
	g          *Guard
	inner      raft.SnapshotStore
	dir        string // the data directory; empty if the inner store was passed in
	verify     func(io.Reader) error
	OnFinished func(meta raft.SnapshotMeta, took time.Duration) // called after each finished snapshot
	OnFailed   func(err error)                                  // called for each snapshot that could not be written
	finishMu   Mutex                                            // held while a snapshot is finished, see snapSink.finish

	mu      sync.Mutex
	bad     map[string]bool // ids of damaged snapshots, which raft must not see
	writing map[string]bool // ids of snapshots that are being written
}

var _ raft.SnapshotStore = (*SnapshotStore)(nil)

// Create begins to write a snapshot.
func (s *SnapshotStore) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	if err := s.g.Check(); err != nil {
		return nil, err
	}
	inner, err := s.createSink(func() (raft.SnapshotSink, error) {
		return s.inner.Create(version, index, term, conf, confIndex, trans)
	})
	if err != nil {
		err = s.writeFailed(fmt.Errorf("create snapshot at %d: %w", index, err))
		s.failed(err)
		return nil, err
	}
	k := &snapSink{SnapshotSink: inner, s: s, meta: raft.SnapshotMeta{ID: inner.ID(), Index: index, Term: term},
		start: time.Now()}
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

// createSink creates a sink. First it removes the unfinished snapshots that the library has left.
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

// forgetWriting records that a snapshot is no longer being written.
func (s *SnapshotStore) forgetWriting(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writing, id)
}

// sweep removes unfinished snapshots that are not being written. The caller holds s.mu.
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

// errOrDamaged returns err, or ErrDamaged if err is nil, since CloseWithError needs an error.
func errOrDamaged(err error) error {
	if err == nil {
		return ErrDamaged
	}
	return err
}

// writeFailed handles a failed write. It stops the replica, unless the disk is full or there is a
// shortage: a snapshot can wait, and raft soon takes another one.
func (s *SnapshotStore) writeFailed(err error) error {
	switch {
	case IsShortage(err):
		s.g.ReportShortage(err)
	case !IsNoSpace(err):
		s.g.FailWrite(err)
	}
	return err
}

// failed reports a snapshot that could not be written.
func (s *SnapshotStore) failed(err error) {
	if s.OnFailed != nil {
		s.OnFailed(err)
	}
}

// List returns the snapshots that are not known to be damaged, newest first. It retries after a
// shortage.
func (s *SnapshotStore) List() (list []*raft.SnapshotMeta, err error) {
	err = s.g.RetryShortage("list snapshots", func() error {
		list, err = s.list()
		return err
	})
	return list, err
}

// list is List without retries.
func (s *SnapshotStore) list() ([]*raft.SnapshotMeta, error) {
	list, err := s.inner.List()
	if err != nil {
		return nil, err
	}
	for _, err := range s.unread(list) { // the order does not matter
		if IsShortage(err) {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(list, func(m *raft.SnapshotMeta) bool { return s.bad[m.ID] }), nil
}

// unread returns the finished snapshots that are not in the library's list, with the reasons. The
// library skips snapshots whose metadata it cannot read.
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

// markDamaged hides a damaged snapshot from raft.
func (s *SnapshotStore) markDamaged(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == nil {
		s.bad = map[string]bool{}
	}
	s.bad[id] = true
}

// Open opens a snapshot. The inner store has compared its checksum.
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

// snapReader remembers which snapshot it reads, for RestoredMeta.
type snapReader struct {
	io.ReadCloser
	meta raft.SnapshotMeta
}

// RestoredMeta returns the metadata of the snapshot that r reads. r may wrap a reader of this
// store.
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

// snapSink writes a snapshot to the inner sink and to the verifier.
type snapSink struct {
	raft.SnapshotSink
	s       *SnapshotStore
	meta    raft.SnapshotMeta
	start   time.Time
	pipe    *io.PipeWriter
	verdict chan error
	own     *ownSnapshot // nil for a received snapshot
	done    bool
	refused bool
	failed  bool // the failure was reported
}

// fail reports the first error of a snapshot. It returns err. A snapshot that a newer one has made
// unnecessary has not failed.
func (k *snapSink) fail(err error) error {
	if err != nil && !k.failed && !errors.Is(err, ErrSnapshotSuperseded) {
		k.failed = true
		k.s.failed(err)
	}
	return err
}

// Write writes to both the verifier and the inner sink.
func (k *snapSink) Write(b []byte) (int, error) {
	if k.pipe != nil && !k.refused {
		if _, err := k.pipe.Write(b); err != nil {
			k.refused = true // Close returns the verifier's error
		}
	}
	n, err := k.SnapshotSink.Write(b)
	k.meta.Size += int64(n)
	if err != nil {
		err = k.fail(k.s.writeFailed(fmt.Errorf("write snapshot at %d: %w", k.meta.Index, err)))
	}
	return n, err
}

// Close finishes a verified snapshot. It drops one that the verifier refused.
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
			if errors.Is(err, ErrNewer) { // the leader will not send an older format
				k.s.g.Fail(exitcode.NotKnown, err)
			}
			return k.fail(err)
		}
	}
	if err := k.s.g.Check(); err != nil {
		return err
	}
	return k.fail(k.finish())
}

// discard removes the files of an unfinished snapshot, which raft does not use.
func (k *snapSink) discard() {
	if k.s.dir == "" {
		return
	}
	path := filepath.Join(k.s.dir, dirSnapshots, k.meta.ID)
	if err := errors.Join(os.RemoveAll(path), os.RemoveAll(path+".tmp")); err != nil {
		k.s.g.cfg.Logger.Warn("cannot remove an unfinished snapshot", "snapshot", k.meta.ID, "error", err)
	}
}

// Cancel drops the snapshot.
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
