package rafttransport

import "github.com/hashicorp/raft"

// Replica is the replica that a transport belongs to.
type Replica interface {
	// Running says that raft has been started once. Before that the other facts are not known.
	Running() bool
	// Term is raft's current term, Leads whether this replica leads in a term. Raft gives
	// leadership up before it touches the log.
	Term() uint64
	Leads(term uint64) bool
	// LeaderKnown says that raft knows a leader.
	LeaderKnown() bool
	// Applied is the index up to which everything is applied, no-ops and barriers too.
	Applied() uint64
	// Configuration is raft's newest membership.
	Configuration() raft.Configuration
	// Header is raft's header of a request or an answer made here.
	Header() raft.RPCHeader

	// Authorize judges a request of another replica's: whether its sender may send it, and whether
	// replicas could apply what is in it.
	Authorize(request any) error
	// Introduce shows this replica's admission to one that has refused it as no member. It says
	// whether the other one accepted it.
	Introduce(to raft.ServerAddress) bool

	// VoteRequested reports that another replica asks for a vote in a term.
	VoteRequested(term uint64)
	// SnapshotInstalled reports that raft has installed a snapshot, before the leader gets the
	// answer.
	SnapshotInstalled(index, term uint64)
	// DropLog drops the log that ends with an entry.
	DropLog(tail raft.Log)
	// LogRolledBack reports that a follower has lost entries that it acknowledged.
	LogRolledBack(follower raft.ServerID, r Rollback)
}

// Log is the replica's log. *raftstore.LogStore is one.
type Log interface {
	FirstIndex() (uint64, error)
	// Tail is the last index and its term.
	Tail() (index, term uint64)
	Has(index, term uint64) bool
}

// Snapshots are the replica's snapshots, newest first. *raftstore.SnapshotStore is one.
type Snapshots interface {
	List() ([]*raft.SnapshotMeta, error)
}
