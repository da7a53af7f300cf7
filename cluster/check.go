package cluster

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Report is what Check found in a data directory.
type Report struct {
	Identity   Identity       `json:"identity"`
	Unclean    bool           `json:"unclean"` // the last process was not stopped in order
	Term       uint64         `json:"term"`
	First      uint64         `json:"first_index"`
	Last       uint64         `json:"last_index"`
	LastTerm   uint64         `json:"last_term"`
	Snapshots  []SnapshotInfo `json:"snapshots"`
	Damaged    []string       `json:"damaged_snapshots,omitempty"`
	Dropped    bool           `json:"dropped"` // a start would drop the log: it lies beside the snapshot
	Voters     []string       `json:"voters"`
	Nonvoters  []string       `json:"nonvoters,omitempty"`
	ConfIndex  uint64         `json:"membership_index"`
	StoreBytes int64          `json:"store_bytes"`
}

// Check reads a data directory that no process holds: store pages, every entry's checksum, that log and
// snapshots fit, and, with verify, the snapshots' content. The report is filled as far as it got; the
// error says what is wrong.
func Check(dataDir string, verify func(io.Reader) error) (Report, error) {
	d, st, err := openOffline(dataDir, verify)
	if errors.Is(err, ErrInUse) {
		return Report{}, refuse(CodeInUse, "stop rmd first", "%s is in use by another process", dataDir)
	}
	if err != nil {
		return Report{}, err
	}
	rep := Report{Identity: d.identity(), Unclean: d.unclean, StoreBytes: fileSize(dataDir)}
	err = st.fill(&rep)
	return rep, errors.Join(err, st.close(), d.close(!d.unclean))
}

// fill completes a report.
func (s *stores) fill(rep *Report) error {
	if _, err := s.stable.peek([]byte("CurrentTerm")); err == nil {
		if rep.Term, err = s.stable.GetUint64([]byte("CurrentTerm")); err != nil {
			return err
		}
	} else if err.Error() != errNotFound {
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
		rep.Snapshots = append(rep.Snapshots, SnapshotInfo{ID: m.ID, Index: m.Index, Term: m.Term, Size: m.Size})
	}
	if len(rep.Damaged) > 0 {
		return fmt.Errorf("snapshot %s: %w", strings.Join(rep.Damaged, ", snapshot "), ErrDamaged)
	}
	return nil
}

// openOffline opens an existing data directory without a replica round it.
func openOffline(dataDir string, verify func(io.Reader) error) (*dataDir, *stores, error) {
	d, err := openExisting(dataDir)
	if err != nil {
		return nil, nil, err
	}
	if err := checkBolt(filepath.Join(dataDir, fileLog)); err != nil {
		return nil, nil, errors.Join(err, d.close(!d.unclean))
	}
	log := hclog.NewNullLogger()
	st, err := openStores(dataDir, Options{}, newGuard(log, nil, nil), verify, log)
	if err != nil {
		return nil, nil, errors.Join(err, d.close(!d.unclean))
	}
	return d, st, nil
}
