package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
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

// installed is called before the leader hears that a snapshot was installed here.
func (c *Cluster) installed(index, term uint64) {
	c.counters.installs.Add(1)
	c.observe(MeasureInstall, 0)
	last, _ := c.stores.logs.tail()
	stale := last == 0 && c.current().raft.LastIndex() > index
	if again := c.installs.repeated(index, time.Now()); again || stale {
		c.goRun(func() { c.restart("a snapshot was installed into a divergent log (hashicorp/raft #697)") })
	}
}

// holds says whether all that a snapshot brings is here already: it is applied, or the log has the
// snapshot's last entry. Such a request comes late, out of a queue or over a connection that its leader
// has given up, or because a divergent tail made the leader go back too far. The library would install
// it: the state would go back, and the log behind it would be cleared with entries that were
// acknowledged and counted by the leader. To say that it is installed is true. A request of an older
// term is raft's to refuse.
func (c *Cluster) holds(q *raft.InstallSnapshotRequest) (term uint64, ok bool) {
	in := c.current()
	if in == nil {
		return 0, false
	}
	if term = in.raft.CurrentTerm(); q.Term < term {
		return term, false
	}
	if q.LastLogIndex <= c.fsm.applied.Load() {
		return term, true
	}
	var l raft.Log
	return term, c.stores.logs.peek(q.LastLogIndex, &l) == nil && l.Term == q.LastLogTerm
}
