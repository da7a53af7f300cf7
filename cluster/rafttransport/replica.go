package rafttransport

import "github.com/hashicorp/raft"

// Replica gives a Transport access to its replica.
type Replica interface {
	// Running reports whether raft has been started once. Before that, the other methods must not
	// be called.
	Running() bool
	// Term returns raft's current term. Leads reports whether this replica leads in a term. Raft
	// gives up leadership before it changes entries of the log.
	Term() uint64
	Leads(term uint64) bool
	// LeaderKnown reports whether raft knows a leader.
	LeaderKnown() bool
	// Applied returns the index up to which everything is applied, including no-ops and barriers.
	Applied() uint64
	// Configuration returns raft's newest membership.
	Configuration() raft.Configuration
	// Header returns raft's header for a request or an answer of this replica.
	Header() raft.RPCHeader

	// Authorize returns an error if the sender of a request may not send it, or if replicas could
	// not apply its content.
	Authorize(request any) error
	// Introduce shows this replica's admission to a replica that has refused it as a non-member. It
	// reports whether that replica accepted it.
	Introduce(to raft.ServerAddress) bool

	// VoteRequested is called when another replica requests a vote in a term.
	VoteRequested(term uint64)
	// SnapshotInstalled is called when raft has installed a snapshot, before the leader gets the
	// answer.
	SnapshotInstalled(index, term uint64)
	// DropLog drops the log whose last entry is tail.
	DropLog(tail raft.Log)
	// LogRolledBack is called when a follower has lost entries that it acknowledged.
	LogRolledBack(follower raft.ServerID, r Rollback)
}

// Log is the replica's log. *raftstore.LogStore implements it.
type Log interface {
	FirstIndex() (uint64, error)
	// Tail returns the last index and its term.
	Tail() (index, term uint64)
	Has(index, term uint64) bool
}

// Snapshots lists the replica's snapshots, newest first. *raftstore.SnapshotStore implements it.
type Snapshots interface {
	List() ([]*raft.SnapshotMeta, error)
}
