package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
)

// RecoverPeer is one member of the cluster after a recovery, in the format of the library's
// peers.json.
type RecoverPeer struct {
	ID       string `json:"id"` // ID, or ID.INCARNATION for another survivor
	Address  string `json:"address"`
	NonVoter bool   `json:"non_voter"`
}

// ParsePeers reads peers.json.
func ParsePeers(b []byte) ([]RecoverPeer, error) {
	var ps []RecoverPeer
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&ps); err != nil {
		return nil, fmt.Errorf("peers.json: %w", err)
	}
	if len(ps) == 0 {
		return nil, errors.New("peers.json: the list of peers is empty")
	}
	ids, addrs := map[string]bool{}, map[string]bool{}
	for i, p := range ps {
		_, port, err := net.SplitHostPort(p.Address)
		switch {
		case !serverPattern.MatchString(p.ID):
			return nil, fmt.Errorf("peers.json: peer %d: invalid id %q", i+1, p.ID)
		case err != nil || port == "":
			return nil, fmt.Errorf("peers.json: peer %s: address %q is not HOST:PORT", p.ID, p.Address)
		case ids[p.ID] || addrs[p.Address]:
			return nil, fmt.Errorf("peers.json: peer %s: duplicate id or address", p.ID)
		}
		ids[p.ID], addrs[p.Address] = true, true
	}
	return ps, nil
}

// RecoverOptions configures Recover.
type RecoverOptions struct {
	// FSM is empty. Recover applies the snapshot and the log to it.
	FSM raft.FSM
	// Verify reads a snapshot and checks it. Nil checks only the checksums.
	Verify func(io.Reader) error
	// RaiseEpoch writes the snapshot with the next epoch to out. Nil keeps the snapshot as it is.
	RaiseEpoch func(snapshot io.Reader, out io.Writer) error
	// Alive reports whether a process answers at an address. Nil tries to connect.
	Alive func(addr string) bool
	// By names who recovers, for the audit log.
	By string
	// Dry only checks.
	Dry bool
}

// RecoverReport says what Recover did.
type RecoverReport struct {
	Index   uint64 `json:"index"` // of the new snapshot
	Term    uint64 `json:"term"`
	Applied uint64 `json:"applied"` // log entries that the snapshot includes
	// Unknown is the number of entries that may not have been committed.
	Unknown uint64 `json:"unknown"`
	Epoch   uint64 `json:"epoch"`
}

// Recover makes a cluster of the given members from the disk of one survivor. It is for the case
// that the majority is lost permanently. It applies the whole log, writes a new snapshot and raises
// the epoch, so that replicas of the earlier epoch are refused. It is refused while a listed member
// answers or a process uses the directory.
func Recover(dataDir string, peers []RecoverPeer, o RecoverOptions) (RecoverReport, error) {
	if o.FSM == nil {
		return RecoverReport{}, errors.New("recover: the FSM is missing")
	}
	for _, p := range peers {
		if alive(o, p.Address) {
			return RecoverReport{}, refuse(CodeLivePeer, "stop every replica first; a healthy cluster needs no recovery", "replica %s still runs at %s", p.ID, p.Address)
		}
	}
	d, err := raftstore.OpenExisting(dataDir, o.Dry)
	if err != nil {
		return RecoverReport{}, offlineRefusal(dataDir, err)
	}
	st, err := raftstore.OpenOffline(d, o.Verify)
	if err != nil {
		return RecoverReport{}, errors.Join(err, d.Close(false))
	}
	rep, err := recoverIn(d, st, peers, o)
	return rep, errors.Join(err, st.Close(), d.Close(err == nil && !o.Dry))
}

// alive reports whether a process answers at an address.
func alive(o RecoverOptions, addr string) bool {
	if o.Alive != nil {
		return o.Alive(addr)
	}
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// recoverIn does the work of Recover in an open directory.
func recoverIn(d *raftstore.Dir, st *raftstore.Stores, peers []RecoverPeer, o RecoverOptions) (RecoverReport, error) {
	found, err := st.Inspect()
	if err != nil {
		return RecoverReport{}, err
	}
	if found.Last == 0 {
		return RecoverReport{}, refuse(CodeNoSuchReplica, "use \"rmd cluster init\"", "%s contains no state", d.Path)
	}
	conf, err := recoveredMembers(d.Identity(), peers)
	if err != nil {
		return RecoverReport{}, err
	}
	rep := RecoverReport{Index: found.Last, Term: found.LastTerm, Epoch: d.Identity().Epoch + 1}
	if err := applyAll(st, found, o.FSM, &rep); err != nil {
		return rep, err
	}
	if o.Dry {
		return rep, nil
	}
	if err := writeRecovered(st, conf, o, rep, d.Path); err != nil {
		return rep, err
	}
	first, _ := st.Logs.FirstIndex()
	last, _ := st.Logs.Tail()
	if last > 0 {
		if err := st.Logs.DeleteRange(first, last); err != nil {
			return rep, err
		}
	}
	err = d.Update(func(i *identity.Identity) {
		i.Epoch, i.Removed, i.RemovedPeers, i.Role = rep.Epoch, nil, nil, identity.RoleVoter
		i.Trust.Known, i.Trust.Admission = nil, nil
		i.Recovered = &identity.Removal{By: o.By, At: time.Now().UTC()}
	})
	return rep, err
}

// recoveredMembers returns the new membership. This replica keeps its incarnation and must be a
// voter.
func recoveredMembers(me identity.Identity, peers []RecoverPeer) (raft.Configuration, error) {
	var conf raft.Configuration
	self := false
	for _, p := range peers {
		s := raft.Server{ID: raft.ServerID(p.ID), Address: raft.ServerAddress(p.Address)}
		if identity.Matches(me.ServerID(), p.ID) {
			s.ID, self = me.ServerID(), !p.NonVoter
		}
		if p.NonVoter {
			s.Suffrage = raft.Nonvoter
		}
		conf.Servers = append(conf.Servers, s)
	}
	if !self {
		return conf, refuse(CodeNotAVoter, "add it to peers.json", "replica %s owns this data directory but is not a voter in peers.json", me.ID)
	}
	return conf, nil
}

// applyAll restores the newest snapshot and applies all entries after it.
func applyAll(st *raftstore.Stores, found *raftstore.StartReport, fsm raft.FSM, rep *RecoverReport) error {
	var from uint64
	if found.Snapshot != nil {
		_, r, err := st.Snapshots.Open(found.Snapshot.ID)
		if err != nil {
			return fmt.Errorf("open snapshot: %w", err)
		}
		if err := errors.Join(fsm.Restore(io.NopCloser(r)), r.Close()); err != nil {
			return fmt.Errorf("restore snapshot: %w", err)
		}
		from = found.Snapshot.Index
	}
	for i := from + 1; i <= found.Last; i++ {
		var l raft.Log
		if err := st.Logs.Peek(i, &l); err != nil {
			return err
		}
		if l.Type == raft.LogCommand {
			_ = fsm.Apply(&l) // a refusal by the FSM is part of its normal result
		}
		rep.Applied++
	}
	rep.Unknown = rep.Applied
	return nil
}

// writeRecovered writes the new snapshot.
func writeRecovered(st *raftstore.Stores, conf raft.Configuration, o RecoverOptions, rep RecoverReport, dir string) error {
	snap, err := o.FSM.Snapshot()
	if err != nil {
		return fmt.Errorf("fork the state: %w", err)
	}
	defer snap.Release()
	tmp, err := os.CreateTemp(dir, "recover-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		_ = tmp.Close()
		_ = os.Remove(tmp.Name())
	}()
	if err := snap.Persist(fileSink{tmp}); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sink, err := st.Snapshots.Create(raft.SnapshotVersionMax, rep.Index, rep.Term, conf, rep.Index, raftstore.AddressEncoder{})
	if err != nil {
		return err
	}
	if o.RaiseEpoch != nil {
		err = o.RaiseEpoch(tmp, sink)
	} else {
		_, err = io.Copy(sink, tmp)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("raise the epoch: %w", err), sink.Cancel())
	}
	return sink.Close()
}

// fileSink is a raft.SnapshotSink that writes to a temporary file.
type fileSink struct{ *os.File }

// ID returns the file's name.
func (f fileSink) ID() string { return f.Name() }

// Close leaves the file open, so that it can be read.
func (f fileSink) Close() error { return nil }

// Cancel does nothing: the file is temporary.
func (f fileSink) Cancel() error { return nil }

// RecoveryNoted clears Identity.Recovered, after the audit log has recorded the recovery.
func (c *Cluster) RecoveryNoted() error {
	return c.dir.Update(func(i *identity.Identity) { i.Recovered = nil })
}
