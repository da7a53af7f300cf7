package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const snapshotsKept = 2

// Stores contains the three stores behind one guard.
type Stores struct {
	Logs      *LogStore
	Stable    *StableStore
	Snapshots *SnapshotStore
	bolt      *boltStore // nil if the stores were passed in
	dir       *Dir
}

// Options replaces stores on disk, for simulations and tests. Nil means the store on disk.
type Options struct {
	Log       raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
}

// Open opens the stores that o does not replace, and wraps all three.
func Open(d *Dir, o Options, g *Guard, verify func(io.Reader) error, log hclog.Logger) (*Stores, error) {
	st := &Stores{dir: d}
	inner, stable, snaps := o.Log, o.Stable, o.Snapshots
	if inner == nil || stable == nil {
		both, err := st.openLogFile()
		if err != nil {
			return nil, err
		}
		if inner == nil {
			inner = both
		}
		if stable == nil {
			stable = both
		}
	}
	var err error
	switch {
	case snaps != nil:
	case d.readOnly:
		snaps = snapshotFiles{filepath.Join(d.Path, dirSnapshots)}
	default:
		snaps, err = openSnapshots(d.Path, log)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if st.Logs, err = openLog(g, inner); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	st.Stable = &StableStore{g: g, inner: stable}
	st.Snapshots = &SnapshotStore{g: g, finishMu: NewMutex(), inner: snaps, verify: verify}
	if o.Snapshots == nil {
		st.Snapshots.dir = d.Path
	}
	if err := st.checkOwner(); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// logAndStable is the interface of raft.db.
type logAndStable interface {
	raft.LogStore
	raft.StableStore
}

// openLogFile opens raft.db. It creates the file if this replica has never stored anything.
func (s *Stores) openLogFile() (logAndStable, error) {
	path := filepath.Join(s.dir.Path, fileLog)
	there, err := s.dir.hasLog()
	if err != nil {
		return nil, err
	}
	if !there && s.dir.readOnly {
		return raft.NewInmemStore(), nil
	}
	if err := checkBoltFile(path); err != nil {
		return nil, err
	}
	bolt, err := openBolt(path, s.dir.readOnly)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", fileLog, err)
	}
	s.bolt = bolt
	return bolt, nil
}

// keyOwner is the key under which raft.db stores the name of its replica.
var keyOwner = []byte("Replica")

// checkOwner refuses a raft.db of another replica: this replica has not made the votes in it, nor
// acknowledged its entries. A raft.db of an older program has no name, and gets one now.
func (s *Stores) checkOwner() error {
	if s.bolt == nil {
		return nil
	}
	self := string(s.dir.Identity().ServerID())
	owner, err := s.Stable.peek(keyOwner)
	switch {
	case err == nil && string(owner) != self:
		return fmt.Errorf("%s belongs to replica %s, not to %s: %w", filepath.Join(s.dir.Path, fileLog), owner,
			self, ErrDamaged)
	case err == nil || s.dir.readOnly && err.Error() == errNotFound:
		return nil
	case err.Error() != errNotFound:
		return err
	}
	return s.Stable.Set(keyOwner, []byte(self))
}

// term returns the stored term, or 0 if there is none.
func (s *Stores) term() (uint64, error) {
	b, err := s.Stable.peek([]byte("CurrentTerm"))
	switch {
	case err != nil && err.Error() == errNotFound:
		return 0, nil
	case err != nil:
		return 0, err
	case len(b) != 8:
		return 0, fmt.Errorf("stored value CurrentTerm has %d bytes: %w", len(b), ErrDamaged)
	}
	return binary.BigEndian.Uint64(b), nil
}

// openSnapshots opens the directory of snapshots and removes unfinished ones.
func openSnapshots(dir string, log hclog.Logger) (raft.SnapshotStore, error) {
	path := filepath.Join(dir, dirSnapshots)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("snapshot directory: %w", err)
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("snapshot directory: %w", err)
	}
	for _, e := range list {
		if e.IsDir() && strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
				return nil, fmt.Errorf("unfinished snapshot: %w", err)
			}
		}
	}
	s, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, log)
	if err != nil {
		return nil, fmt.Errorf("snapshot directory: %w", err)
	}
	return s, nil
}

// Close closes the store on disk.
func (s *Stores) Close() error {
	if s.bolt == nil {
		return nil
	}
	return s.bolt.Close()
}

// DiskUsage returns the size of raft.db and how much of it is unused, in bytes. It returns 0 if
// there is no file.
func (s *Stores) DiskUsage() (size, free int64) {
	if s.bolt == nil {
		return 0, 0
	}
	return fileSize(s.dir.Path), s.bolt.freeBytes()
}

// Empty reports whether raft has never run on these stores. Unlike raft.HasExistingState it does
// not stop the replica if a value is damaged.
func (s *Stores) Empty() (bool, error) {
	if last, _ := s.Logs.Tail(); last > 0 {
		return false, nil
	}
	if term, err := s.term(); err != nil || term > 0 {
		return false, err
	}
	list, err := s.Snapshots.List()
	return len(list) == 0, err
}
