// Package server puts one replica together: the connections to the other replicas, Raft and its
// stores, the replicated state, the leader's sequencer, the forwarder, and the ports of REST and
// Hadoop. No other package does this. It contains no rule of scheduling.
//
//	REST, Hadoop ─▶ forward.Forwarder ─▶ leader.Sequencer ─▶ cluster (Raft) ─▶ fsm.Machine
//
// Open (replica.go) opens the parts in this order: peers.go, raft.go, sequencer.go, hadoop.go,
// http.go. leadership.go passes changes of leadership on to them, bootstrap.go gives a new cluster
// its first queues, ready.go says when a follower is ready. Package server/hadoop puts the services
// of YARN's ports together.
//
// `rmd server` runs one Replica, and `rmd dev` runs three. The tests of whole clusters start and
// kill them. The simulation runs them in virtual time: Parts replace clock, disk and network.
package server
