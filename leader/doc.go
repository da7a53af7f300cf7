// Package leader has the code that only the leader runs: it plans inputs, replicates the resulting
// events and releases the replies.
//
// Core (core.go) is one leadership as a deterministic state machine. It owns the planner, the
// planning state, the open batch and the timers, and decides which replies may be sent. It has no
// channel, goroutine, lock or clock, so that tests and jepsen-lite/logsim run the product's own
// rules. Compare RawNode of etcd's Raft.
//
// Sequencer (sequencer.go) takes inputs from many callers while this replica leads. For each
// leadership it starts a driver (driver.go). One goroutine of the driver calls the Core. A second
// one passes batches to the Log in order, and a third one waits for them in order. They share only
// channels.
//
//	Do ─▶ queue ─▶ Step ─▶ open batch ─▶ Propose ─▶ Log ─▶ applied here ─▶ Committed ─▶ Replies
//	        ▲                   (fills while one is in flight)
//	Tick, Due
//
// Invariants:
//   - No reply is sent before this replica has applied the batch with its events and every batch
//     before it. A reply without events was computed on the planning state: it waits for everything
//     planned before it that must be committed.
//   - The events of one input are in one batch, in the order in which they were planned.
//   - After the first batch that is not applied as planned, nothing more is planned or proposed.
//     The planning state is dropped. Every waiting caller learns that nothing happened
//     (ErrNotLeader) or that the outcome is unknown (ErrUnknownOutcome).
//   - Every batch has the sequence number that follows from the committed state on which it was
//     planned. So every replica skips a batch that Raft appends anywhere else (package fsm,
//     fence.go).
//   - The digest of the planning state when a batch is closed equals that of the committed state
//     after the batch. A difference stops the replica.
//   - The stamp never goes back, also across leaders. Timers run on the monotonic clock, and
//     only during the leadership.
//   - Every queue is bounded: a full one returns ErrBusy.
//
// The package must not import raft, fsm or transport: it uses Log and a few functions.
package leader
