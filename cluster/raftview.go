package cluster

import (
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/rafttransport"
)

// raftView gives the transport and the succession access to this replica.
type raftView struct{ c *Cluster }

// Running implements rafttransport.Replica.
func (v raftView) Running() bool { return v.c.core.Current() != nil }

// Term implements rafttransport.Replica.
func (v raftView) Term() uint64 { return v.c.Term() }

// Leads implements rafttransport.Replica.
func (v raftView) Leads(term uint64) bool { return v.c.core.Leads(term) }

// LeaderKnown implements rafttransport.Replica.
func (v raftView) LeaderKnown() bool {
	leader, _ := v.c.core.Current().Raft.LeaderWithID()
	return leader != ""
}

// Applied implements rafttransport.Replica. A snapshot may end with a barrier or a no-op. Raft does
// not pass these to the FSM, so only raft knows that they are applied. After a restart in place the
// state may be ahead of raft.
func (v raftView) Applied() uint64 {
	return max(v.c.core.FSM.Applied.Load(), v.c.core.Current().Raft.AppliedIndex())
}

// State implements succession.Replica.
func (v raftView) State() raft.RaftState { return v.c.core.Current().Raft.State() }

// LeaderID implements succession.Replica.
func (v raftView) LeaderID() string {
	id, _ := v.c.Leader()
	return id
}

// RaftLeader implements succession.Replica.
func (v raftView) RaftLeader() raft.ServerID {
	_, id := v.c.core.Current().Raft.LeaderWithID()
	return id
}

// LastContact implements succession.Replica.
func (v raftView) LastContact() time.Time { return v.c.core.Current().Raft.LastContact() }

// StateIndex implements succession.Replica.
func (v raftView) StateIndex() uint64 { return v.c.core.FSM.Applied.Load() }

// Tail implements succession.Replica.
func (v raftView) Tail() (index, term uint64) { return v.c.core.Stores.Logs.Tail() }

// Configuration implements rafttransport.Replica.
func (v raftView) Configuration() raft.Configuration { return v.c.core.Configuration() }

// Header implements rafttransport.Replica.
func (v raftView) Header() raft.RPCHeader { return v.c.core.Header() }

// Authorize implements rafttransport.Replica. Without a peer, in a simulation, it accepts every
// request.
func (v raftView) Authorize(request any) error {
	if v.c.core.Peer == nil {
		return nil
	}
	if err := v.c.access.AuthorizeRaft(request); err != nil {
		return err
	}
	return v.c.entries.VerifyReceived(request)
}

// Introduce implements rafttransport.Replica.
func (v raftView) Introduce(to raft.ServerAddress) bool {
	return v.c.core.Peer != nil && v.c.access.Introduce(to)
}

// VoteRequested implements rafttransport.Replica.
func (v raftView) VoteRequested(term uint64) { v.c.lead.Succession.VoteRequested(term) }

// SnapshotInstalled implements rafttransport.Replica.
func (v raftView) SnapshotInstalled(index, term uint64) { v.c.runs.snapshotInstalled(index, term) }

// DropLog implements rafttransport.Replica.
func (v raftView) DropLog(tail raft.Log) { v.c.runs.dropLog(tail) }

// LogRolledBack implements rafttransport.Replica.
func (v raftView) LogRolledBack(follower raft.ServerID, r rafttransport.Rollback) {
	v.c.rollbacks.quarantine(follower, r)
}
