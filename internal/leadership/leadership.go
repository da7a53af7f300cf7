// Package leadership declares how Raft tells the other parts of a replica which replica is the
// leader.
package leadership

// Leadership is the leader as one replica knows it.
type Leadership struct {
	Term     uint64
	LeaderID string // configured id; "" if no leader is known
	Address  string // the leader's address for other replicas; "" if no leader is known
	IsLeader bool   // this replica is the leader in Term
}
