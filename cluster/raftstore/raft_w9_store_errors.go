package raftstore

import "runtime"

// Work-around W9: a store that has failed (v1.8.0, raft.go: dispatchLogs, appendEntries,
// processLogs).
//
// Library: after a failed StoreLogs it steps down and continues to use the store. After a failed
// GetLog it panics. The store's error value can prevent neither. After a failed sync the content of
// the disk is unknown.
// Guard: the first failure calls OnFatal before the call returns, and ends the raft goroutine that
// made the call. Its deferred functions still run, so waiting proposals get ErrUnknownOutcome. In
// production the process has ended by then.
// Test: TestStoreErrorEndsReplica, TestBitRotWhileRunning in cluster.
// Delete when: the library stops permanently at the first error of a store.

// halt ends the calling goroutine, which belongs to raft.
func (g *Guard) halt() {
	runtime.Goexit()
}
