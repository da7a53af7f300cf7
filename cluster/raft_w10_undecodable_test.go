package cluster

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
)

// TestBadEntriesAreRefused checks that followers refuse entries that no replica can apply, or that
// make the library panic, before they store them, and that the cluster continues. The leader does
// not propose such an entry itself.
func TestBadEntriesAreRefused(t *testing.T) {
	t.Parallel()
	bad := []byte("nonsense")
	rs := trio(t, func(c *Config) {
		c.VerifyEntry = func(b []byte) error {
			if bytes.Equal(b, bad) {
				return errors.New("not an entry")
			}
			return nil
		}
	})
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	f := follower(rs, l)
	if _, _, err := l.c.Propose(bad).Wait(); !errors.Is(err, access.ErrBadEntry) {
		t.Errorf("the leader proposes it: %v", err)
	}
	last, lastTerm := f.c.core.Stores.Logs.Tail()
	good := raft.EncodeConfiguration(l.c.core.Configuration())
	noVoter := l.c.core.Configuration()
	noVoter.Servers = slices.Clone(noVoter.Servers)
	for i := range noVoter.Servers {
		noVoter.Servers[i].Suffrage = raft.Nonvoter
	}
	for what, e := range map[string]*raft.Log{
		"a command":               {Type: raft.LogCommand, Data: bad},
		"a membership":            {Type: raft.LogConfiguration, Data: bad},
		"half a membership":       {Type: raft.LogConfiguration, Data: good[:len(good)/2]},
		"a membership of nobody":  {Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(raft.Configuration{})},
		"no voter":                {Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(noVoter)},
		"an unknown type":         {Type: 99},
		"a type that is not used": {Type: raft.LogAddPeerDeprecated, Data: bad},
		"another index":           {Type: raft.LogNoop, Index: 7},
		"none":                    nil,
	} {
		if e != nil {
			if e.Term = l.c.Term(); e.Index == 0 {
				e.Index = last + 1
			}
		}
		q := &raft.AppendEntriesRequest{RPCHeader: l.c.core.Header(), Term: l.c.Term(), PrevLogEntry: last,
			PrevLogTerm: lastTerm, Entries: []*raft.Log{e}, LeaderCommitIndex: last + 1}
		err := l.c.core.Network.AppendEntries(f.c.Identity().ServerID(), raft.ServerAddress(f.addr), q,
			&raft.AppendEntriesResponse{})
		if err == nil || !strings.Contains(err.Error(), access.ErrBadEntry.Error()) && e != nil {
			t.Errorf("AppendEntries with %s: %v, want an error with %q (with none, any error)", what, err, access.ErrBadEntry)
		}
		if at, _ := f.c.core.Stores.Logs.Tail(); at != last {
			t.Fatalf("%s is stored", what)
		}
	}
	snap := &raft.InstallSnapshotRequest{RPCHeader: l.c.core.Header(), SnapshotVersion: raft.SnapshotVersionMax,
		Term: l.c.Term(), LastLogIndex: last + 9, LastLogTerm: l.c.Term(), Configuration: bad, Size: 4}
	if err := l.c.core.Network.InstallSnapshot(f.c.Identity().ServerID(), raft.ServerAddress(f.addr), snap,
		&raft.InstallSnapshotResponse{}, strings.NewReader("SNAP")); err == nil {
		t.Error("a snapshot whose membership does not decode is taken")
	}
	for _, r := range rs {
		if err := r.c.Failure(); err != nil {
			t.Fatalf("%s stopped: %v", r.id, err)
		}
	}
	inStep(t, rs, put(t, rs, 3))
}

// TestStoredEntriesAccepted checks that a replica accepts an entry that it has already stored
// although it does not know it. The leader sends it again if the answer was lost, and the request
// tells the replica that the entry is committed.
func TestStoredEntriesAccepted(t *testing.T) {
	t.Parallel()
	var older atomic.Bool
	rs := trio(t, func(c *Config) {
		c.VerifyEntry = func(b []byte) error {
			if older.Load() {
				return errors.New("not known")
			}
			return nil
		}
	})
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	f := follower(rs, l)
	last, lastTerm := f.c.core.Stores.Logs.Tail()
	var held, before raft.Log
	if err := errors.Join(f.c.core.Stores.Logs.GetLog(last, &held),
		f.c.core.Stores.Logs.GetLog(last-1, &before)); err != nil {
		t.Fatal(err)
	}
	older.Store(true)
	send := func(e raft.Log) error {
		q := &raft.AppendEntriesRequest{RPCHeader: l.c.core.Header(), Term: l.c.Term(), PrevLogEntry: before.Index,
			PrevLogTerm: before.Term, Entries: []*raft.Log{&e}, LeaderCommitIndex: last}
		return l.c.core.Network.AppendEntries(f.c.Identity().ServerID(), raft.ServerAddress(f.addr), q,
			&raft.AppendEntriesResponse{})
	}
	if err := send(held); err != nil {
		t.Errorf("the entry that it holds: %v", err)
	}
	held.Term = lastTerm + 1
	if err := send(held); err == nil {
		t.Error("an entry of another term is taken")
	}
}
