// Package leadership declares the values by which Raft tells the other parts of a replica which
// replica leads.
package leadership

// Leadership is who leads, as one replica knows it.
type Leadership struct {
	Term     uint64
	LeaderID string // configured id; empty while no leader is known
	Address  string // the leader's, for other replicas; empty while no leader is known
	IsLeader bool   // this replica leads in Term
}
