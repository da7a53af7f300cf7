package cluster

import (
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
}

// openStores opens what is not injected and wraps all of it.
func openStores(dir string, o Options, g *guard, verify func(io.Reader) error, log hclog.Logger) (*stores, error) {
	st := &stores{}
	inner, stable, snaps := o.LogStore, o.StableStore, o.SnapshotStore
	if inner == nil || stable == nil {
		if err := checkBoltFile(filepath.Join(dir, fileLog)); err != nil {
			return nil, err
		}
		bolt, err := openBolt(filepath.Join(dir, fileLog))
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", fileLog, err)
		}
		st.bolt = bolt
		if inner == nil {
			inner = bolt
		}
		if stable == nil {
			stable = bolt
		}
	}
	var err error
	if snaps == nil {
		if snaps, err = openSnapshots(dir, log); err != nil {
			return nil, errors.Join(err, st.close())
		}
	}
	if st.logs, err = openLog(g, inner); err != nil {
		return nil, errors.Join(err, st.close())
	}
	st.stable = &stableStore{g: g, inner: stable}
	st.snaps = &snapStore{g: g, turn: make(turn, 1), inner: snaps, verify: verify}
	if o.SnapshotStore == nil {
		st.snaps.dir = dir
	}
	return st, nil
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

// empty says that raft has never run on these stores. Unlike the library's own question it does not
// end the replica when a value is damaged.
func (s *stores) empty() (bool, error) {
	if last, _ := s.logs.tail(); last > 0 {
		return false, nil
	}
	if _, err := s.stable.peek([]byte("CurrentTerm")); err == nil {
		n, err := s.stable.GetUint64([]byte("CurrentTerm"))
		if err != nil || n > 0 {
			return false, err
		}
	} else if err.Error() != errNotFound {
		return false, err
	}
	list, err := s.snaps.List()
	return len(list) == 0, err
}
