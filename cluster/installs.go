package cluster

import (
	"strconv"
	"sync"
	"time"
)

// installWatch ends hashicorp/raft #697: a follower whose divergent tail reached past a snapshot that it
// received still believes in that tail and is sent the snapshot again, for ever. The log itself was
// cleared (logStore is monotonic), so a restart of raft in place lets it see the truth.
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

// believes says whether raft still remembers a last log entry that is not before the
// snapshot which has cleared the log, and is not the snapshot's own last entry.
func (in *instance) believes(index, term uint64) bool {
	stats := in.raft.Stats()
	last, _ := strconv.ParseUint(stats["last_log_index"], 10, 64) // the library's own numbers
	of, _ := strconv.ParseUint(stats["last_log_term"], 10, 64)
	return last > index || last == index && of != term
}

// installed is called before the leader hears that a snapshot was installed here.
func (c *Cluster) installed(index, term uint64) {
	c.counters.installs.Add(1)
	c.observe(MeasureInstall, 0)
	last, _ := c.stores.Logs.Tail()
	stale := last == 0 && c.current().believes(index, term)
	if again := c.installs.repeated(index, time.Now()); again || stale {
		c.goRun(func() { c.restart("a snapshot was installed into a divergent log (hashicorp/raft #697)") })
	}
}
