package cluster

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// dirReport is what Check found in a data directory.
type dirReport struct {
	Identity   Identity       `json:"identity"`
	Unclean    bool           `json:"unclean"` // the last process was not stopped in order
	Term       uint64         `json:"term"`
	First      uint64         `json:"first_index"`
	Last       uint64         `json:"last_index"`
	LastTerm   uint64         `json:"last_term"`
	Snapshots  []snapshotInfo `json:"snapshots"`
	Damaged    []string       `json:"damaged_snapshots,omitempty"`
	Dropped    bool           `json:"dropped"` // a start would drop the log: it lies beside the snapshot
	Voters     []string       `json:"voters"`
	Nonvoters  []string       `json:"nonvoters,omitempty"`
	ConfIndex  uint64         `json:"membership_index"`
	StoreBytes int64          `json:"store_bytes"`
}

// checkDir reads a data directory that no process holds, and changes nothing in it: store pages, every entry's checksum, that log and
// snapshots fit, and, with verify, the snapshots' content. The report is filled as far as it got; the
// error says what is wrong.
func checkDir(dataDir string, verify func(io.Reader) error) (dirReport, error) {
	d, err := openExisting(dataDir, true)
	if err != nil {
		return dirReport{}, err
	}
	rep := dirReport{Identity: d.identity(), Unclean: d.unclean, StoreBytes: fileSize(dataDir)}
	st, err := openOffline(d, verify)
	if err != nil {
		return rep, errors.Join(err, d.close(false))
	}
	err = st.fill(&rep)
	return rep, errors.Join(err, st.close(), d.close(false))
}

// snapshotInfo describes one snapshot on disk.
type snapshotInfo struct {
	ID    string `json:"id"`
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	Size  int64  `json:"size"`
}

// fill completes a report.
func (s *stores) fill(rep *dirReport) error {
	var err error
	if rep.Term, err = s.term(); err != nil {
		return err
	}
	found, err := s.inspect()
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
	list, err := s.snaps.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	for i, m := range list {
		if i > 0 { // the newest whole one was read already
			if err := s.verifySnapshot(m.ID); err != nil {
				rep.Damaged = append(rep.Damaged, fmt.Sprintf("%s: %v", m.ID, err))
				continue
			}
		}
		rep.Snapshots = append(rep.Snapshots, snapshotInfo{ID: m.ID, Index: m.Index, Term: m.Term, Size: m.Size})
	}
	if len(rep.Damaged) > 0 {
		return fmt.Errorf("snapshot %s: %w", strings.Join(rep.Damaged, ", snapshot "), ErrDamaged)
	}
	return nil
}

// openOffline opens the stores of an existing data directory without a replica round them.
func openOffline(d *dataDir, verify func(io.Reader) error) (*stores, error) {
	if _, err := d.hasLog(); err != nil {
		return nil, err
	}
	if err := d.checkLog(); err != nil {
		return nil, err
	}
	log := hclog.NewNullLogger()
	return openStores(d, injectedStores{}, newGuard(log, nil, nil), verify, log)
}
