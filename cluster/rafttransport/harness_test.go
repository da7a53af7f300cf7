package rafttransport

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// patience is how long a test waits for an expected event.
const patience = 30 * time.Second

// replica implements Replica, Log and Snapshots with values that a test sets.
type replica struct {
	term, leads, applied uint64 // leads is the term in which it leads, 0 for none
	leader               bool   // whether a leader is known
	members              []raft.Server
	first, last          uint64
	lastTerm             uint64
	has                  func(index, term uint64) bool
	snapshot             *raft.SnapshotMeta
	dropped              []raft.Log
}

func (r *replica) Running() bool       { return true }
func (r *replica) Term() uint64        { return r.term }
func (r *replica) Leads(t uint64) bool { return r.leads == t }
func (r *replica) LeaderKnown() bool   { return r.leader }
func (r *replica) Applied() uint64     { return r.applied }
func (r *replica) Configuration() raft.Configuration {
	return raft.Configuration{Servers: r.members}
}
func (r *replica) Header() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}
}
func (r *replica) Authorize(any) error                       { return nil }
func (r *replica) Introduce(raft.ServerAddress) bool         { return false }
func (r *replica) VoteRequested(uint64)                      {}
func (r *replica) SnapshotInstalled(uint64, uint64)          {}
func (r *replica) DropLog(tail raft.Log)                     { r.dropped = append(r.dropped, tail) }
func (r *replica) LogRolledBack(_ raft.ServerID, _ Rollback) {}
func (r *replica) FirstIndex() (uint64, error)               { return r.first, nil }
func (r *replica) Tail() (uint64, uint64)                    { return r.last, r.lastTerm }
func (r *replica) Has(index, term uint64) bool               { return r.has != nil && r.has(index, term) }
func (r *replica) List() ([]*raft.SnapshotMeta, error) {
	if r.snapshot == nil {
		return nil, nil
	}
	return []*raft.SnapshotMeta{r.snapshot}, nil
}

// over returns a started Transport that wraps inner.
func over(t *testing.T, r *replica, inner raft.Transport) *Transport {
	t.Helper()
	w := New(Config{Transport: inner, Replica: r, Log: r, Snapshots: r, Logger: hclog.NewNullLogger()})
	w.Start()
	return w
}
