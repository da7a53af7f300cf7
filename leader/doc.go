// Package leader is what only the leader does: it plans inputs, replicates what follows from them
// and releases the replies.
//
// Core (core.go) is one leadership as a pure step machine. It owns planner, planning state, open
// batch and timers, and says which replies may leave. It has no channel, goroutine, lock or clock,
// so that tests and jepsen-lite/logsim run the rules themselves. Compare RawNode of etcd's Raft.
//
// Sequencer (sequencer.go) takes inputs from many callers while this replica leads. For each
// leadership it begins a driver (driver.go), whose goroutine alone calls the Core; a second hands
// batches to the Log in order, a third waits for them in order. Nothing else is shared but the
// queue.
//
//	Do ─▶ queue ─▶ Step ─▶ open batch ─▶ Propose ─▶ Log ─▶ applied here ─▶ Committed ─▶ Replies
//	        ▲                   (fills while one is in flight)
//	Tick, Due
//
// Invariants:
//   - No reply leaves before the batch that carries its events, and every batch before it, is
//     applied on this replica. A reply without events was computed on the planning state: it waits
//     for everything planned before it.
//   - The events of one input are in one batch, in the order in which they were planned.
//   - After the first batch that is not applied as planned nothing more is planned or proposed: the
//     planning state is dropped, and everybody who waits learns whether nothing happened
//     (ErrNotLeader) or nobody can know (ErrUnknownOutcome).
//   - Every batch carries the sequence number that follows from the committed state on which it was
//     planned, so that every replica skips a batch that Raft appends anywhere else (package fsm,
//     fence.go).
//   - The digest of the planning state at the close of a batch is that of the committed state after
//     it; a difference stops the replica.
//   - The stamp never runs backwards, also across leaders. Timers run on the monotonic clock, and
//     only while the leadership lasts.
//   - Every queue is bounded: a full one is ErrBusy.
//
// It must not import raft, fsm or transport: it sees Log and a few funcs.
package leader
