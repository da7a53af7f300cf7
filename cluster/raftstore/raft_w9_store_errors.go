package raftstore

import "runtime"

// Work-around W9: a store that has failed (v1.8.0, raft.go: dispatchLogs, appendEntries,
// processLogs).
//
// Library: it answers a failed StoreLogs by stepping down and using the store on, and a failed
// GetLog by a panic. An error value can prevent neither. After a failed sync nobody can say what
// the disk holds.
// Guard: the first failure calls OnFatal before the call returns, and ends the goroutine of raft
// that met it; its deferred answers still run, so waiting proposals get ErrUnknownOutcome. In the
// product the process has ended by then.
// Test: TestStoreErrorEndsReplica, TestBitRotAtWork in cluster.
// Delete when: the library stops for good at the first error of a store.

// halt ends the calling goroutine, which is one of raft's.
func (g *Guard) halt() {
	runtime.Goexit()
}
