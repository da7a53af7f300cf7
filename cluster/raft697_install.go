package cluster

import (
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/local"
)

// hashicorp/raft #697, the part that concerns the log (v1.8.0, raft.go: installSnapshot). The other
// parts are in raftstore/raft697_monotonic.go and rafttransport/raft697_snapshot.go.
//
// Library: when a snapshot clears the log, raft keeps the cleared log's last entry in memory. If a
// follower's divergent tail reached past the snapshot, or exactly to its end, the leader sends the
// snapshot again and again, forever.
// Guard: raft is restarted in place, with the cleared log, if it still remembers entries that are
// gone, or if the same snapshot was installed twice. Such a restart also drops a log after the
// snapshot that differs from the leader's.
// Test: TestTrap697, TestTrap697Library, TestOlderSnapshot, TestRestartKeepsReplacedLog; in
// jepsen-lite/sim TestTrap697, TestTrap697Library.
// Delete when: installSnapshot sets the last log entry with the snapshot; TestTrap697Library fails
// then.

// dropLog restarts raft in place and drops the log whose last entry is tail. If the log has another
// last entry by then, the restart keeps it: a snapshot has replaced the log, and the new one
// contains acknowledged entries.
func (r *runs) dropLog(tail raft.Log) {
	if !r.dropping.CompareAndSwap(false, true) {
		return
	}
	r.divergent.Store(&tail)
	r.Go(func() {
		defer r.dropping.Store(false)
		r.restart("the log behind the snapshot is divergent (hashicorp/raft #697)")
	})
}

// takeDivergent reports whether the log is the one to be dropped. It does so once.
func (r *runs) takeDivergent() bool {
	tail := r.divergent.Swap(nil)
	last, term := r.Stores.Logs.Tail()
	return tail != nil && tail.Index == last && tail.Term == term
}

// installWatch counts how often the same snapshot was installed in succession.
type installWatch struct {
	mu    sync.Mutex
	index uint64
	times int
	at    time.Time
}

const (
	installRepeats = 2
	installWindow  = 10 * time.Minute
)

// repeated records an installation. It reports whether the same snapshot was installed
// installRepeats times within installWindow.
func (w *installWatch) repeated(index uint64, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if index != w.index || now.Sub(w.at) > installWindow {
		w.index, w.times = index, 0
	}
	w.times++
	w.at = now
	if w.times < installRepeats {
		return false
	}
	w.times = 0
	return true
}

// believesInTail reports whether raft still remembers a last log entry after the snapshot's end, or
// one with the snapshot's last index and another term. index and term are those of the snapshot,
// which has cleared the log.
func believesInTail(in *local.Instance, index, term uint64) bool {
	stats := in.Raft.Stats()
	last, _ := strconv.ParseUint(stats["last_log_index"], 10, 64) // the library formats these itself
	of, _ := strconv.ParseUint(stats["last_log_term"], 10, 64)
	return last > index || last == index && of != term
}

// snapshotInstalled is called when a snapshot was installed here, before the leader gets the
// answer.
func (r *runs) snapshotInstalled(index, term uint64) {
	r.Counters.Installs.Add(1)
	r.Observe(MeasureInstall, 0)
	last, _ := r.Stores.Logs.Tail()
	stale := last == 0 && believesInTail(r.Current(), index, term)
	if again := r.installs.repeated(index, time.Now()); again || stale {
		r.Go(func() { r.restart("a snapshot was installed into a divergent log (hashicorp/raft #697)") })
	}
}
