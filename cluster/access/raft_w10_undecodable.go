package access

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/local"
	"rmd/cluster/raftstore"
	"rmd/cluster/rafttransport"
	"rmd/cluster/servers"
)

// Work-around W10: entries that cannot be decoded (v1.8.0, configuration.go: DecodeConfiguration,
// which panics).
//
// Library: it stores whatever a leader sends. Every replica must apply committed entries, so an
// entry that no replica can decode stops all of them, at every start. A membership that cannot be
// decoded causes a panic.
// Guard: a leader checks entries before it proposes them, a follower before it stores and
// acknowledges them. Entries that a follower has already stored pass. A leader that sends invalid
// entries finds no majority for them, and the other replicas continue.
// Test: raft_w10_undecodable_test.go.
// Delete when: never for commands. For memberships: when the library returns an error.

// ErrBadEntry is the error of a proposal that replicas cannot apply. It was not appended.
var ErrBadEntry = rafttransport.ErrBadEntry

// Entries checks entries before they are proposed or stored.
type Entries struct {
	*local.Replica
	refusalLogged atomic.Int64 // when the last refusal of entries was logged, in Unix nanoseconds
}

// verifyEntries checks the entries of an AppendEntries request.
func (k *Entries) verifyEntries(q *raft.AppendEntriesRequest) error {
	for i, e := range q.Entries {
		if e == nil || e.Index != q.PrevLogEntry+uint64(i)+1 {
			return fmt.Errorf("%w: entry %d of %d has the wrong index", ErrBadEntry, i+1, len(q.Entries))
		}
		if err := k.VerifyEntry(e.Type, e.Data); err != nil && !k.hasStored(e) {
			return fmt.Errorf("%w: index %d, term %d: %w", ErrBadEntry, e.Index, e.Term, err)
		}
	}
	return nil
}

// hasStored reports whether this replica has already stored an entry. The library skips such
// entries. If they were refused, an older program with newer data would never learn what is
// committed, and so would not stop at the entry that it does not know.
func (k *Entries) hasStored(e *raft.Log) bool {
	var stored raft.Log
	return k.Stores.Logs.GetLog(e.Index, &stored) == nil && stored.Term == e.Term
}

// VerifyEntry checks one entry.
func (k *Entries) VerifyEntry(t raft.LogType, data []byte) error {
	switch t {
	case raft.LogNoop, raft.LogBarrier:
		return nil
	case raft.LogConfiguration:
		return verifyConfiguration(data)
	case raft.LogCommand:
		if k.Config.VerifyEntry == nil {
			return nil
		}
		return k.Config.VerifyEntry(data)
	}
	return fmt.Errorf("unknown entry type %d", t)
}

// verifyConfiguration checks an encoded membership.
func verifyConfiguration(data []byte) error {
	conf, err := raftstore.DecodeConfiguration(data)
	switch {
	case err != nil:
		return err
	case len(servers.Voters(conf)) == 0:
		return errors.New("the membership has no voter")
	}
	ids := map[raft.ServerID]bool{}
	for _, s := range conf.Servers {
		if ids[s.ID] || !identity.ValidServer(string(s.ID)) || s.Address == "" {
			return fmt.Errorf("the membership has an invalid server %q at %q", s.ID, s.Address)
		}
		ids[s.ID] = true
	}
	return nil
}

// badPause is the least time between two log lines about refused entries.
const badPause = time.Minute

// VerifyReceived checks a Raft request. It logs a refusal at most once per badPause.
func (k *Entries) VerifyReceived(cmd any) error {
	err := k.verifyRequest(cmd)
	if now := time.Now().UnixNano(); err != nil {
		if last := k.refusalLogged.Load(); now-last > int64(badPause) && k.refusalLogged.CompareAndSwap(last, now) {
			k.Log.Error("refusing entries of the leader: this program cannot apply them; it may be older than the leader's",
				"error", err)
		}
	}
	return err
}

// verifyRequest checks what a Raft request asks this replica to store.
func (k *Entries) verifyRequest(cmd any) error {
	switch q := cmd.(type) {
	case *raft.AppendEntriesRequest:
		return k.verifyEntries(q)
	case *raft.InstallSnapshotRequest:
		if q.SnapshotVersion != raft.SnapshotVersionMax {
			return fmt.Errorf("%w: snapshot version %d", ErrBadEntry, q.SnapshotVersion)
		}
		return verifyConfiguration(q.Configuration)
	}
	return nil
}
