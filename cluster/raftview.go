package cluster

import (
	"github.com/hashicorp/raft"

	"rmd/cluster/rafttransport"
)

// raftView is what the transport asks about this replica, and tells it.
type raftView struct{ c *Cluster }

// Running implements Replica.
func (v raftView) Running() bool { return v.c.current() != nil }

// Term implements Replica.
func (v raftView) Term() uint64 { return v.c.Term() }

// Leads implements Replica.
func (v raftView) Leads(term uint64) bool { return v.c.leads(term) }

// LeaderKnown implements Replica.
func (v raftView) LeaderKnown() bool {
	leader, _ := v.c.current().raft.LeaderWithID()
	return leader != ""
}

// Applied implements Replica. A snapshot may end with a barrier or a no-op, of which only raft knows that it
// is applied: the FSM is not told. After a restart in place the state may be ahead of raft.
func (v raftView) Applied() uint64 {
	return max(v.c.fsm.applied.Load(), v.c.current().raft.AppliedIndex())
}

// Configuration implements Replica.
func (v raftView) Configuration() raft.Configuration { return v.c.configuration() }

// Header implements Replica.
func (v raftView) Header() raft.RPCHeader { return v.c.header() }

// Authorize implements Replica. Without a peer, in a simulation, every request is taken.
func (v raftView) Authorize(request any) error {
	if v.c.peer == nil {
		return nil
	}
	if err := v.c.mayRaft(request); err != nil {
		return err
	}
	return v.c.verifyReceived(request)
}

// Introduce implements Replica.
func (v raftView) Introduce(to raft.ServerAddress) bool { return v.c.peer != nil && v.c.introduce(to) }

// VoteRequested implements Replica.
func (v raftView) VoteRequested(term uint64) { v.c.crash.ask(term) }

// SnapshotInstalled implements Replica.
func (v raftView) SnapshotInstalled(index, term uint64) { v.c.installed(index, term) }

// DropLog implements Replica.
func (v raftView) DropLog(tail raft.Log) { v.c.drop(tail) }

// LogRolledBack implements Replica.
func (v raftView) LogRolledBack(follower raft.ServerID, r rafttransport.Rollback) {
	v.c.tellForgetful(follower, r)
}

// leads says whether this replica leads in a term.
func (c *Cluster) leads(term uint64) bool {
	in := c.current()
	return in != nil && in.raft.State() == raft.Leader && in.raft.CurrentTerm() == term
}
