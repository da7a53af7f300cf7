package cluster

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// startReport is what the checks before a start found.
type startReport struct {
	Snapshot    *raft.SnapshotMeta // newest good one
	BadSnapshot []string           // why others are not
	First, Last uint64
	LastTerm    uint64
	LastAt      time.Time // when the leader appended the newest entry, by its clock
	Drop        bool      // the whole log lies behind or beside the snapshot and must go
	Config      raft.Configuration
	ConfigIndex uint64
}

// inspect verifies the newest good snapshot and every entry of the log, and that the two fit.
func (s *stores) inspect() (*startReport, error) {
	rep := &startReport{}
	if err := s.inspectSnapshots(rep); err != nil {
		return nil, err
	}
	var snapIndex, snapTerm uint64
	if rep.Snapshot != nil {
		snapIndex, snapTerm = rep.Snapshot.Index, rep.Snapshot.Term
		rep.Config, rep.ConfigIndex = rep.Snapshot.Configuration, rep.Snapshot.ConfigurationIndex
	}
	rep.First, _ = s.logs.FirstIndex()
	rep.Last, rep.LastTerm = s.logs.tail()
	if rep.Last == 0 {
		rep.Last, rep.LastTerm = snapIndex, snapTerm
		return rep, nil
	}
	if rep.First > snapIndex+1 {
		err := fmt.Errorf("log begins at %d but the snapshot ends at %d: entries are missing: %w", rep.First, snapIndex, ErrDamaged)
		if len(rep.BadSnapshot) > 0 {
			err = fmt.Errorf("%w; damaged snapshots: %s", err, strings.Join(rep.BadSnapshot, ", "))
		}
		return nil, err
	}
	for i := rep.First; i <= rep.Last; i++ {
		var l raft.Log
		if err := s.logs.peek(i, &l); errors.Is(err, raft.ErrLogNotFound) {
			return nil, fmt.Errorf("log has a hole at %d: %w", i, ErrDamaged)
		} else if err != nil {
			return nil, err
		}
		rep.LastAt = l.AppendedAt
		if i == snapIndex && l.Term != snapTerm {
			rep.Drop = true
		}
		if l.Type == raft.LogConfiguration && i > rep.ConfigIndex {
			conf, err := decodeConfiguration(l.Data)
			if err != nil {
				return nil, fmt.Errorf("log entry %d: %w", i, err)
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
	return rep, nil
}

// inspectSnapshots finds the newest snapshot that is whole.
func (s *stores) inspectSnapshots(rep *startReport) error {
	list, err := s.snaps.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	for _, meta := range list {
		if err := s.verifySnapshot(meta.ID); errors.Is(err, ErrNewer) {
			return &FatalError{ExitNotKnown, err}
		} else if err != nil {
			s.snaps.condemn(meta.ID)
			rep.BadSnapshot = append(rep.BadSnapshot, fmt.Sprintf("%s: %v", meta.ID, err))
			continue
		}
		rep.Snapshot = meta
		return nil
	}
	if len(list) > 0 {
		return fmt.Errorf("no snapshot is whole %q: %w", rep.BadSnapshot, ErrDamaged)
	}
	return nil
}

// verifySnapshot reads a snapshot through.
func (s *stores) verifySnapshot(id string) error {
	if s.snaps.dir != "" {
		if err := checkMeta(s.snaps.dir, id); err != nil {
			return fmt.Errorf("snapshot %s: %w", id, err)
		}
	}
	_, r, err := s.snaps.Open(id)
	if err != nil {
		return fmt.Errorf("snapshot %s: %w: %w", id, err, ErrDamaged)
	}
	defer func() { _ = r.Close() }()
	if s.snaps.verify == nil {
		_, err = io.Copy(io.Discard, r)
		return err
	}
	return s.snaps.verify(r)
}

// decodeConfiguration is raft's, without its panic.
func decodeConfiguration(b []byte) (conf raft.Configuration, err error) {
	err = sane("membership", func() error { conf = raft.DecodeConfiguration(b); return nil })
	return conf, err
}
