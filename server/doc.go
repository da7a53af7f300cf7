// Package server puts one replica together: the wire to the other replicas, Raft and its stores, the
// replicated state, the leader's sequencer, the forwarder, and the ports of REST and Hadoop. It is
// the only place that does. It holds no rule of scheduling.
//
//	REST, Hadoop ─▶ forward.Forwarder ─▶ leader.Sequencer ─▶ cluster (Raft) ─▶ fsm.Machine
//
// Open (replica.go) opens the parts in this order: peers.go, raft.go, sequencer.go, hadoop.go,
// http.go. leadership.go carries changes of leadership to them, bootstrap.go gives a new cluster its
// first queues, ready.go says when a follower is ready. Package server/hadoop puts the services of
// YARN's ports together.
//
// A Replica is what `rmd server` runs, what `rmd dev` runs three of, what the tests of whole
// clusters start and kill, and what the simulation runs in virtual time: Parts replace what it
// stands on.
package server
