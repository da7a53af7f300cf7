package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
	"rmd/cluster/refusal"
)

// RecoverPeer is one member of the cluster after a recovery, in the format of the library's
// peers.json.
type RecoverPeer struct {
	ID       string `json:"id"` // ID or ID.INCARNATION
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
		case !identity.ValidServer(p.ID):
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
	// Without names all other voters, which the new cluster gives up. So a recovery of a second
	// disk, or the same command on every replica, is refused.
	Without []string
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
	// Epoch is the number of recoveries of this cluster.
	Epoch uint64 `json:"epoch"`
}

// Recover makes a cluster from the disk of one survivor, which becomes its only member. It is for
// the case that the majority is lost permanently. It applies the whole log, writes a new snapshot
// and sets a new epoch, so that replicas with other disks are refused, also those on which somebody
// has run a recovery of their own. It is refused while a member answers or a process uses the
// directory.
func Recover(dataDir string, peers []RecoverPeer, o RecoverOptions) (RecoverReport, error) {
	if o.FSM == nil {
		return RecoverReport{}, errors.New("recover: the FSM is missing")
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
		return RecoverReport{}, refusal.New(refusal.NoSuchReplica, "use the disk of a replica that has state",
			"%s contains no state", d.Path)
	}
	me := d.Identity()
	conf, err := recoveredMembers(me, peers)
	if err == nil {
		err = noneRuns(o, found.Config, conf)
	}
	if err == nil {
		err = givenUp(me, found.Config, o.Without)
	}
	if err != nil {
		return RecoverReport{}, err
	}
	rep := RecoverReport{Index: found.Last, Term: found.LastTerm, Epoch: me.Recoveries() + 1}
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
		i.Epoch, i.Removed, i.RemovedPeers, i.Role = i.NextEpoch(), nil, nil, identity.RoleVoter
		i.Trust.Known, i.Trust.Admission = nil, nil
		i.Recovered = &identity.Removal{By: o.By, At: time.Now().UTC()}
	})
	return rep, err
}

// recoveredMembers returns the new membership: this replica as the only voter, with its incarnation.
// No other one can take part: its disk is of before the recovery, or empty.
func recoveredMembers(me identity.Identity, peers []RecoverPeer) (raft.Configuration, error) {
	var conf raft.Configuration
	for _, p := range peers {
		switch {
		case !identity.Matches(me.ServerID(), p.ID):
		case p.NonVoter:
			return conf, refusal.New(refusal.NotAVoter, "make it a voter in peers.json",
				"replica %s owns this data directory but is not a voter in peers.json", me.ID)
		default:
			conf.Servers = append(conf.Servers, raft.Server{ID: me.ServerID(), Address: raft.ServerAddress(p.Address)})
		}
	}
	if len(conf.Servers) == 0 {
		return conf, refusal.New(refusal.NotAVoter, "name it in peers.json, and no other one",
			"replica %s owns this data directory but is not a voter in peers.json", me.ID)
	}
	for _, p := range peers {
		if !identity.Matches(me.ServerID(), p.ID) {
			return conf, refusal.New(refusal.WouldLoseQuorum,
				fmt.Sprintf("name only %s, start it, and join the others with empty disks", me.ID),
				"peers.json names %s too, which cannot vote in the new cluster, so no leader could be elected", p.ID)
		}
	}
	return conf, nil
}

// noneRuns refuses a recovery while a process answers at the address of a member, old or new. It
// may be the cluster that somebody has recovered from another disk.
func noneRuns(o RecoverOptions, confs ...raft.Configuration) error {
	for _, conf := range confs {
		for _, s := range conf.Servers {
			if id, _ := identity.Split(s.ID); alive(o, string(s.Address)) {
				return refusal.New(refusal.LivePeer,
					"if there is a leader, no recovery is needed: join this replica to it; else stop every replica first",
					"replica %s still runs at %s", id, s.Address)
			}
		}
	}
	return nil
}

// givenUp requires that without names exactly the other voters of a membership.
func givenUp(me identity.Identity, conf raft.Configuration, without []string) error {
	var left []string
	for _, s := range conf.Servers {
		named := slices.ContainsFunc(without, func(name string) bool { return identity.Matches(s.ID, name) })
		id, _ := identity.Split(s.ID)
		switch {
		case s.ID == me.ServerID() && named:
			return refusal.New(refusal.VotersLeft,
				"recover only one disk, the one with the highest last term and index, and name the others",
				"replica %s owns this data directory and is to be given up", me.ID)
		case s.ID != me.ServerID() && s.Suffrage == raft.Voter && !named:
			left = append(left, id)
		}
	}
	if len(left) > 0 {
		return refusal.New(refusal.VotersLeft,
			"if a majority can be started, start it instead; a recovery may lose decisions; name with --without the voters whose disks are lost for good",
			"the cluster has the voters %s too", strings.Join(left, ", "))
	}
	return nil
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
func writeRecovered(st *raftstore.Stores, conf raft.Configuration, o RecoverOptions, rep RecoverReport,
	dir string) error {
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
	sink, err := st.Snapshots.Create(raft.SnapshotVersionMax, rep.Index, rep.Term, conf, rep.Index,
		raftstore.AddressEncoder{})
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
