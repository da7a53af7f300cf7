// Package fsm adapts the replicated state (package fsm/state) to Raft: it is a thin raft.FSM. It
// also offers what a replica needs beside applying entries: forks, digests by index, waiting for an
// index, and watches.
//
//	raft ─▶ Machine.Apply ─▶ decode ─▶ fence ─▶ state.Apply(event)* ─▶ digest ring ─▶ waiters, watches
//	raft ─▶ Snapshot ─▶ fork ─▶ Persist beside further Apply ─▶ package snapshot
//	raft ─▶ Restore ─▶ snapshot.Read, all verified ─▶ swap
//
// Invariants:
//   - An entry that this build does not understand stops the replica (OnFatal 75), and so does an
//     event that contradicts the state (74). Afterwards nothing is applied, waiters return and no
//     snapshot is taken.
//   - Readers see the state between entries, never inside one.
//   - A batch with a sequence number is applied only in the term in which it was planned, and only
//     right after its predecessor. Every replica skips any other batch. So every event was planned
//     on the prefix before it, however quickly leadership is lost and won again.
//   - Everything kept beside the state (digests, recent batches) is bounded.
//
// Begin with machine.go; fence.go has the rule for batches.
package fsm
