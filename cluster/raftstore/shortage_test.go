package raftstore

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// shortSnapshots fails the first calls of Open for lack of file descriptors.
type shortSnapshots struct {
	raft.SnapshotStore
	left int
}

func (s *shortSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	if s.left--; s.left >= 0 {
		return nil, nil, &os.PathError{Op: "open", Path: id, Err: syscall.ENFILE}
	}
	return s.SnapshotStore.Open(id)
}

// TestShortageIsNoDamage checks that a snapshot which cannot be opened for lack of file descriptors
// is opened later, and does not count as damaged.
func TestShortageIsNoDamage(t *testing.T) {
	inner := raft.NewInmemSnapshotStore()
	k, err := inner.Create(1, 5, 1, raft.Configuration{}, 1, AddressEncoder{})
	if err == nil {
		_, err = k.Write(append([]byte("SNAP"), make([]byte, 24)...))
		err = errors.Join(err, k.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	g := NewGuard(GuardConfig{Logger: hclog.NewNullLogger()})
	st := &Stores{Snapshots: &SnapshotStore{g: g, finishMu: NewMutex(), inner: &shortSnapshots{inner, 3},
		verify: verifyState}}
	rep := &StartReport{}
	if err := st.inspectSnapshots(rep); err != nil || rep.Snapshot == nil || g.Failure() != nil {
		t.Fatalf("inspectSnapshots: %v, snapshot %+v, failure %v; want no error, a snapshot and no failure",
			err, rep.Snapshot, g.Failure())
	}
	if g.ShortageText() == "" {
		t.Error("nothing is said of it")
	}
}
