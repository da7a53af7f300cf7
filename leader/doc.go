// Package leader is what only the leader does: the sequencer, batches in
// flight, release of replies, liveness timers, taking and leaving office.
//
//	Do ─▶ queue ─▶ plan on the planning state ─▶ open batch ─▶ Log ─▶ applied here ─▶ replies, in order
//	                 ▲                             (fills while one is in flight)
//	 timers, ticks ──┘
//
// One goroutine, the office, owns planner, planning state, open batch and
// timers for the length of one leadership; a second hands batches to the Log in
// order, a third waits for them in order. Nothing else is shared but the queue.
//
// Invariants:
//   - No reply leaves before the batch that carries its events, and every batch
//     before it, is applied on this replica. A reply without events was computed
//     on the planning state: it waits for everything planned before it.
//   - The events of one input are in one batch, in the order they were planned.
//   - After the first batch that does not end as planned nothing more is
//     proposed: the planning state is dropped, and everybody who waits is told
//     whether nothing happened (ErrNotLeader) or nobody can know
//     (ErrUnknownOutcome).
//   - Every batch carries the sequence number that follows from the committed
//     state it was planned on, so that a batch which Raft appends anywhere else is
//     skipped by every replica (package fsm, fence.go).
//   - The digest of the planning state at the close of a batch is that of the
//     committed state after it; a difference stops the replica.
//   - The stamp never runs backwards, also across leaders. Timers run on the
//     monotonic clock, and only while the office runs.
//   - Every queue is bounded: a full one is ErrBusy.
//
// It must not import raft, fsm or transport: it sees Log and a few funcs.
package leader
