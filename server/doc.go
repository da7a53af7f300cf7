// Package server wires the parts of one rmd process together: the wire to the
// other replicas, Raft and its stores, the replicated state, the leader's
// sequencer, the forwarder, and REST. It holds no rule of its own.
//
//	REST ─▶ forward.Forwarder ─▶ leader.Sequencer ─▶ cluster (Raft) ─▶ fsm.Machine
//
// A Replica is what `rmd server` runs, what `rmd dev` runs three of, and what
// the tests of whole clusters start and kill.
package server
