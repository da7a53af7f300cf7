// Package fsm is the replicated state as Raft sees it: a thin raft.FSM round
// fsm/state, with what a replica wants to know about applying: forks, digests
// by index, waiting for an index, watches.
//
//	raft ─▶ Machine.Apply ─▶ decode ─▶ fence ─▶ state.Apply(event)* ─▶ digest ring ─▶ waiters, watches
//	raft ─▶ Snapshot ─▶ fork ─▶ Persist beside further Apply ─▶ package snapshot
//	raft ─▶ Restore ─▶ snapshot.Read, all verified ─▶ swap
//
// Invariants:
//   - An entry that this build does not understand, or an event that does not
//     follow from the state, stops the replica (OnFatal 75 and 74); afterwards
//     nothing is applied, nobody waits and no snapshot is taken.
//   - Readers see the state between entries, never inside one.
//   - A batch that carries a sequence number is applied only in the term it was
//     planned in and only right after its predecessor; any other is skipped, on
//     every replica alike. It is what makes "every event was planned on the
//     prefix before it" true however quickly leadership is lost and won again.
//   - Everything kept beside the state (digests, recent batches) is bounded.
package fsm
