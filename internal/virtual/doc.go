// Package virtual is the tests of whole clusters in virtual time. It has no
// production code.
//
// Three or five replicas, each with the real Raft (package cluster over stores
// and a network in memory), the real state machine, sequencer, planner and door,
// run in one testing/synctest bubble together with simulated nodes, AMs and
// clients. Replicas are crashed, paused, cut off in one direction or both, made
// to hand leadership over, snapshot often and keep short logs.
//
//	load ─▶ door ─▶ sequencer ─▶ raft ─▶ machine ─▶ checker
//	faults ─▶ network, disks, replicas
//
// The checker keeps books of its own from the entries as each replica applies
// them and from what callers were told; it asks the state only to compare it with
// those books.
//
// RMD_SIM_SEEDS sets the number of seeds, RMD_SIM_SEED runs a single one. A run is
// not repeatable to the bit: a seed draws faults and load, the Go scheduler still
// decides who of several runnable goroutines goes first.
package virtual
