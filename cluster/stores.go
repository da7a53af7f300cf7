package cluster

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

// stores are the three stores behind one guard.
type stores struct {
	logs   *logStore
	stable *stableStore
	snaps  *snapStore
	bolt   *boltStore // nil when injected
	dir    *dataDir
}

// injectedStores replace the stores on disk, for simulations and tests; nil: those on disk.
type injectedStores struct {
	Log       raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
}

// openStores opens what is not injected and wraps all of it.
func openStores(d *dataDir, o injectedStores, g *guard, verify func(io.Reader) error, log hclog.Logger) (*stores, error) {
	st := &stores{dir: d}
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
		snaps = snapshotFiles{filepath.Join(d.path, dirSnapshots)}
	default:
		snaps, err = openSnapshots(d.path, log)
	}
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	if st.logs, err = openLog(g, inner); err != nil {
		return nil, errors.Join(err, st.close())
	}
	st.stable = &stableStore{g: g, inner: stable}
	st.snaps = &snapStore{g: g, turn: newTurn(), inner: snaps, verify: verify}
	if o.Snapshots == nil {
		st.snaps.dir = d.path
	}
	if err := st.checkOwner(); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

// logAndStable is what raft.db holds.
type logAndStable interface {
	raft.LogStore
	raft.StableStore
}

// openLogFile opens raft.db. It is made where no replica has stored anything yet.
func (s *stores) openLogFile() (logAndStable, error) {
	path := filepath.Join(s.dir.path, fileLog)
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

// keyOwner names the replica that a raft.db belongs to.
var keyOwner = []byte("Replica")

// checkOwner refuses a raft.db of another replica: its votes and entries are not those that this one has
// given its word for. One of an older program bears no name, and gets it now.
func (s *stores) checkOwner() error {
	if s.bolt == nil {
		return nil
	}
	self := string(s.dir.identity().ServerID())
	owner, err := s.stable.peek(keyOwner)
	switch {
	case err == nil && string(owner) != self:
		return fmt.Errorf("%s belongs to replica %s, not to %s: %w", filepath.Join(s.dir.path, fileLog), owner, self, ErrDamaged)
	case err == nil || s.dir.readOnly && err.Error() == errNotFound:
		return nil
	case err.Error() != errNotFound:
		return err
	}
	return s.stable.Set(keyOwner, []byte(self))
}

// term is the newest term that was stored, 0 for none.
func (s *stores) term() (uint64, error) {
	b, err := s.stable.peek([]byte("CurrentTerm"))
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

// close closes the store on disk.
func (s *stores) close() error {
	if s.bolt == nil {
		return nil
	}
	return s.bolt.Close()
}

// diskUsage is the size of the file that holds the log, and what of it is unused; 0 when there is none.
func (s *stores) diskUsage() (size, free int64) {
	if s.bolt == nil {
		return 0, 0
	}
	return fileSize(s.dir.path), s.bolt.freeBytes()
}

// empty says that raft has never run on these stores. Unlike the library's own question it does not
// end the replica when a value is damaged.
func (s *stores) empty() (bool, error) {
	if last, _ := s.logs.tail(); last > 0 {
		return false, nil
	}
	if term, err := s.term(); err != nil || term > 0 {
		return false, err
	}
	list, err := s.snaps.List()
	return len(list) == 0, err
}
