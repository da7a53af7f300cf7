package offline

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
	"rmd/cluster/refusal"
)

// CreateOptions describes the first replica of a cluster that Create makes.
type CreateOptions struct {
	ID, ClusterName, ClusterID, Address string
	// Write writes the content of the first snapshot.
	Write func(io.Writer) error
	// Verify reads a snapshot and checks it.
	Verify func(io.Reader) error
}

// FirstIndex and FirstTerm are the index and the term of the first snapshot.
const FirstIndex, FirstTerm = 1, 1

// Create makes the data directory of the first replica of a new cluster, whose state is the
// snapshot that o.Write writes. The directory must be empty. If the process is killed, the
// directory contains no replica.
func Create(dataDir string, o CreateOptions) error {
	err := raftstore.NewDir(dataDir, func(folder string) error { return createIn(folder, o) })
	if errors.Is(err, raftstore.ErrNotEmpty) {
		return refusal.New(refusal.AlreadyInitialized, "name another one, or remove what is in it if no cluster needs it",
			"%s is not empty", dataDir)
	}
	return err
}

// createIn writes the replica's files into dir.
func createIn(dir string, o CreateOptions) error {
	d, err := raftstore.OpenDir(dir, identity.Identity{ID: o.ID, ClusterName: o.ClusterName})
	if err != nil {
		return err
	}
	st, err := raftstore.OpenOffline(d, o.Verify)
	if err != nil {
		return errors.Join(err, d.Close(false))
	}
	err = createSnapshot(d, st, o)
	err = errors.Join(err, st.Close())
	return errors.Join(err, d.Close(err == nil))
}

func createSnapshot(d *raftstore.Dir, st *raftstore.Stores, o CreateOptions) error {
	if err := st.Stable.SetUint64([]byte("CurrentTerm"), FirstTerm); err != nil {
		return fmt.Errorf("store the term: %w", err)
	}
	conf := raft.Configuration{Servers: []raft.Server{
		{ID: d.Identity().ServerID(), Address: raft.ServerAddress(o.Address)}}}
	sink, err := st.Snapshots.Create(raft.SnapshotVersionMax, FirstIndex, FirstTerm, conf, FirstIndex,
		raftstore.AddressEncoder{})
	if err != nil {
		return err
	}
	if err := o.Write(sink); err != nil {
		return errors.Join(fmt.Errorf("write the first state: %w", err), sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return err
	}
	return d.Update(func(i *identity.Identity) { i.ClusterID, i.Role = o.ClusterID, identity.RoleVoter })
}
