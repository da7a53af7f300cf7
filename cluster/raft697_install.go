package cluster

import (
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// hashicorp/raft #697, on the way of the log (v1.8.0, raft.go: installSnapshot). The other parts
// are in raftstore/raft697_monotonic.go and rafttransport/raft697_snapshot.go.
//
// Library: when a snapshot clears the log, it still believes in the last log entry from before. A
// follower whose divergent tail reached past the snapshot, or to its very end, is sent the snapshot
// again for ever.
// Guard: raft is restarted in place, over the cleared log, when it believes in entries that are
// gone, or when the same snapshot was installed twice. A log behind the snapshot that differs from
// the leader's is dropped by such a restart too.
// Test: TestTrap697, TestTrap697Library, TestOlderSnapshot, TestDropsNoOtherLog; in jepsen-lite/sim
// TestTrap697, TestTrap697Library.
// Delete when: installSnapshot sets the last log entry with the snapshot; TestTrap697Library fails
// then.

// dropLog drops the log that ends with an entry, by a restart in place. A log that ends otherwise
// by then is another one: a snapshot has cleared it, and it holds what was acknowledged since.
func (c *Cluster) dropLog(tail raft.Log) {
	if !c.dropping.CompareAndSwap(false, true) {
		return
	}
	c.divergent.Store(&tail)
	c.goRun(func() {
		defer c.dropping.Store(false)
		c.restart("the log behind the snapshot is divergent (hashicorp/raft #697)")
	})
}

// takeDivergent says, once, whether the log is the one to be dropped.
func (c *Cluster) takeDivergent() bool {
	tail := c.divergent.Swap(nil)
	last, term := c.stores.Logs.Tail()
	return tail != nil && tail.Index == last && tail.Term == term
}

// installWatch counts how often the same snapshot was installed.
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

// repeated notes one install and says whether it was the same one too often.
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

// believesInTail says whether raft still remembers a last log entry that is not before the snapshot
// which has cleared the log, and is not the snapshot's own last entry.
func (in *instance) believesInTail(index, term uint64) bool {
	stats := in.raft.Stats()
	last, _ := strconv.ParseUint(stats["last_log_index"], 10, 64) // the library's own numbers
	of, _ := strconv.ParseUint(stats["last_log_term"], 10, 64)
	return last > index || last == index && of != term
}

// snapshotInstalled is called before the leader hears that a snapshot was installed here.
func (c *Cluster) snapshotInstalled(index, term uint64) {
	c.counters.installs.Add(1)
	c.observe(MeasureInstall, 0)
	last, _ := c.stores.Logs.Tail()
	stale := last == 0 && c.current().believesInTail(index, term)
	if again := c.installs.repeated(index, time.Now()); again || stale {
		c.goRun(func() { c.restart("a snapshot was installed into a divergent log (hashicorp/raft #697)") })
	}
}
