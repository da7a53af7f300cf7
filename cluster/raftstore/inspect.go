package raftstore

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"rmd/internal/exitcode"
)

// StartReport is the result of the checks before a start.
type StartReport struct {
	Snapshot    *raft.SnapshotMeta // the newest valid snapshot
	BadSnapshot []string           // damaged snapshots, with the reasons
	badTo       uint64             // the highest index of a damaged snapshot
	Term        uint64             // the stored term, 0 for none
	First, Last uint64
	LastTerm    uint64
	LastAt      time.Time // when the leader appended the newest entry, by the leader's clock
	Drop        bool      // the log ends before the snapshot or disagrees with it, and must be dropped
	Config      raft.Configuration
	ConfigIndex uint64
}

// Inspect verifies the newest valid snapshot and every entry of the log. It checks that they and
// the stored term are consistent.
func (s *Stores) Inspect() (*StartReport, error) {
	rep := &StartReport{}
	if err := s.inspectSnapshots(rep); err != nil {
		return nil, err
	}
	if err := s.inspectLog(rep); err != nil {
		return nil, err
	}
	if rep.Last < rep.badTo {
		return nil,
			fmt.Errorf("the log ends at %d, before a snapshot that is damaged: entries are missing: %w; damaged snapshots: %s",
				rep.Last, ErrDamaged, strings.Join(rep.BadSnapshot, ", "))
	}
	return rep, s.inspectTerm(rep)
}

// inspectTerm compares the stored term with the newest entry: raft stores a term before any entry
// of that term. A replica that has lost its term could vote twice in one term.
func (s *Stores) inspectTerm(rep *StartReport) (err error) {
	if rep.Term, err = s.term(); err != nil {
		return err
	}
	switch {
	case rep.Term == 0 && s.Logs.empty() && s.dir != nil && s.dir.used.Load():
		return fmt.Errorf("%s holds neither a term nor an entry, but this replica has stored some: %w", fileLog, ErrDamaged)
	case rep.Term < rep.LastTerm:
		return fmt.Errorf("the stored term is %d, the newest entry is of term %d: %w", rep.Term, rep.LastTerm, ErrDamaged)
	}
	return nil
}

// inspectLog verifies every entry, and that the log continues the snapshot.
func (s *Stores) inspectLog(rep *StartReport) error {
	var snapIndex, snapTerm uint64
	if rep.Snapshot != nil {
		snapIndex, snapTerm = rep.Snapshot.Index, rep.Snapshot.Term
		rep.Config, rep.ConfigIndex = rep.Snapshot.Configuration, rep.Snapshot.ConfigurationIndex
	}
	rep.First, _ = s.Logs.FirstIndex()
	rep.Last, rep.LastTerm = s.Logs.Tail()
	if rep.Last == 0 {
		rep.Last, rep.LastTerm = snapIndex, snapTerm
		return nil
	}
	if rep.First > snapIndex+1 {
		err := fmt.Errorf("log begins at %d but the snapshot ends at %d: entries are missing: %w", rep.First,
			snapIndex, ErrDamaged)
		if len(rep.BadSnapshot) > 0 {
			err = fmt.Errorf("%w; damaged snapshots: %s", err, strings.Join(rep.BadSnapshot, ", "))
		}
		return err
	}
	for i := rep.First; i <= rep.Last; i++ {
		var l raft.Log
		if err := s.Logs.Peek(i, &l); errors.Is(err, raft.ErrLogNotFound) {
			return fmt.Errorf("log has a hole at %d: %w", i, ErrDamaged)
		} else if err != nil {
			return err
		}
		rep.LastAt = l.AppendedAt
		if i == snapIndex && l.Term != snapTerm {
			rep.Drop = true
		}
		if l.Type == raft.LogConfiguration && i > rep.ConfigIndex {
			conf, err := DecodeConfiguration(l.Data)
			if err != nil {
				return fmt.Errorf("log entry %d: %w", i, err)
			}
			rep.Config, rep.ConfigIndex = conf, i
		}
	}
	if rep.Last < snapIndex {
		rep.Drop = true
	}
	if rep.Drop {
		rep.Last, rep.LastTerm = snapIndex, snapTerm
		rep.Config, rep.ConfigIndex = rep.Snapshot.Configuration, rep.Snapshot.ConfigurationIndex
	}
	return nil
}

// inspectSnapshots finds the newest valid snapshot.
func (s *Stores) inspectSnapshots(rep *StartReport) error {
	list, err := s.Snapshots.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	unread := s.Snapshots.unread(list)
	for _, id := range slices.Sorted(maps.Keys(unread)) {
		rep.addBadSnapshot(id, unread[id])
	}
	for _, meta := range list {
		if err := s.verifySnapshot(meta.ID); errors.Is(err, ErrNewer) {
			return &exitcode.Error{Code: exitcode.NotKnown, Err: err}
		} else if err != nil {
			s.Snapshots.markDamaged(meta.ID)
			rep.addBadSnapshot(meta.ID, err)
			continue
		}
		rep.Snapshot = meta
		return nil
	}
	if len(rep.BadSnapshot) > 0 {
		return fmt.Errorf("all snapshots are damaged %q: %w", rep.BadSnapshot, ErrDamaged)
	}
	return nil
}

// addBadSnapshot records a damaged snapshot and the index in its name, which is TERM-INDEX-TIME.
func (r *StartReport) addBadSnapshot(id string, err error) {
	r.BadSnapshot = append(r.BadSnapshot, fmt.Sprintf("%s: %v", id, err))
	var term, index, at uint64
	if n, _ := fmt.Sscanf(id, "%d-%d-%d", &term, &index, &at); n == 3 { // otherwise the name has another form
		r.badTo = max(r.badTo, index)
	}
}

// verifySnapshot reads a whole snapshot and checks it.
func (s *Stores) verifySnapshot(id string) error {
	if s.Snapshots.dir != "" {
		if err := s.Snapshots.g.RetryShortage("check snapshot "+id,
			func() error { return checkMeta(s.Snapshots.dir, id) }); err != nil {
			return fmt.Errorf("snapshot %s: %w", id, err)
		}
	}
	_, r, err := s.Snapshots.Open(id)
	if err != nil {
		return fmt.Errorf("snapshot %s: %w: %w", id, err, ErrDamaged)
	}
	defer func() { _ = r.Close() }()
	if s.Snapshots.verify == nil {
		_, err = io.Copy(io.Discard, r)
		return err
	}
	return s.Snapshots.verify(r)
}

// DecodeConfiguration is raft.DecodeConfiguration with an error instead of a panic.
func DecodeConfiguration(b []byte) (conf raft.Configuration, err error) {
	err = recoverDamage("membership", func() error { conf = raft.DecodeConfiguration(b); return nil })
	return conf, err
}
