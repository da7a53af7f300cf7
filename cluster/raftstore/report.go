package raftstore

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// Report is what Check found in a data directory.
type Report struct {
	Identity   identity.Identity `json:"identity"`
	Unclean    bool              `json:"unclean"` // the last process was not stopped properly
	Term       uint64            `json:"term"`
	First      uint64            `json:"first_index"`
	Last       uint64            `json:"last_index"`
	LastTerm   uint64            `json:"last_term"`
	Snapshots  []SnapshotInfo    `json:"snapshots"`
	Damaged    []string          `json:"damaged_snapshots,omitempty"`
	Dropped    bool              `json:"dropped"` // a start would drop the log, since it does not continue the snapshot
	Voters     []string          `json:"voters"`
	Nonvoters  []string          `json:"nonvoters,omitempty"`
	ConfIndex  uint64            `json:"membership_index"`
	StoreBytes int64             `json:"store_bytes"`
}

// Check reads a data directory that no process uses, and changes nothing in it. It checks the pages
// of the store, every entry's checksum, that log and snapshots are consistent and, with verify, the
// content of the snapshots. If it returns an error, the report covers what was read before.
func Check(dataDir string, verify func(io.Reader) error) (Report, error) {
	d, err := OpenExisting(dataDir, true)
	if err != nil {
		return Report{}, err
	}
	rep := Report{Identity: d.Identity(), Unclean: d.Unclean, StoreBytes: fileSize(dataDir)}
	st, err := OpenOffline(d, verify)
	if err != nil {
		return rep, errors.Join(err, d.Close(false))
	}
	err = st.fill(&rep)
	return rep, errors.Join(err, st.Close(), d.Close(false))
}

// SnapshotInfo describes one snapshot on disk.
type SnapshotInfo struct {
	ID    string `json:"id"`
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	Size  int64  `json:"size"`
}

// fill completes a report.
func (s *Stores) fill(rep *Report) error {
	var err error
	if rep.Term, err = s.term(); err != nil {
		return err
	}
	found, err := s.Inspect()
	if err != nil {
		return err
	}
	rep.First, rep.Last, rep.LastTerm = found.First, found.Last, found.LastTerm
	rep.Damaged, rep.Dropped, rep.ConfIndex = found.BadSnapshot, found.Drop, found.ConfigIndex
	for _, v := range found.Config.Servers {
		name := string(v.ID) + " " + string(v.Address)
		if v.Suffrage == raft.Voter {
			rep.Voters = append(rep.Voters, name)
		} else {
			rep.Nonvoters = append(rep.Nonvoters, name)
		}
	}
	list, err := s.Snapshots.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	for i, m := range list {
		if i > 0 { // Inspect has already read the newest one
			if err := s.verifySnapshot(m.ID); err != nil {
				rep.Damaged = append(rep.Damaged, fmt.Sprintf("%s: %v", m.ID, err))
				continue
			}
		}
		rep.Snapshots = append(rep.Snapshots, SnapshotInfo{ID: m.ID, Index: m.Index, Term: m.Term, Size: m.Size})
	}
	if len(rep.Damaged) > 0 {
		return fmt.Errorf("snapshot %s: %w", strings.Join(rep.Damaged, ", snapshot "), ErrDamaged)
	}
	return nil
}

// OpenOffline opens the stores of an existing data directory without a running replica.
func OpenOffline(d *Dir, verify func(io.Reader) error) (*Stores, error) {
	if _, err := d.hasLog(); err != nil {
		return nil, err
	}
	if err := d.CheckLog(); err != nil {
		return nil, err
	}
	log := hclog.NewNullLogger()
	return Open(d, Options{}, NewGuard(GuardConfig{Logger: log}), verify, log)
}
