package cluster

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// Progress says whether this replica makes progress with its log, and what hinders it.
type Progress struct {
	Leads bool `json:"leads"`
	// Commit is the highest index that this replica knows to be committed, Applied the highest index
	// whose effect is in its state, and Last the last index in its log.
	Commit  uint64 `json:"commit"`
	Applied uint64 `json:"applied"`
	Last    uint64 `json:"last"`
	// Stalled is how long something has waited here while nothing of its kind got done. It is 0 if
	// nothing waits, or while work gets done, however slowly. Three kinds are watched: entries that
	// are not committed or not applied, and, on a leader, requests to raft's main loop and the work
	// above Raft (Config.Work). It does not grow while this process is stopped, nor while a backup is
	// restored. It is updated four times a second.
	Stalled time.Duration `json:"stalled"`
	// Why says in one sentence what waits, and if known for what. It is empty if Stalled is 0.
	Why string `json:"why,omitempty"`
	// Refusals lists the followers that answer and do not store this leader's entries. It is empty
	// on a replica that does not lead.
	Refusals []EntryRefusal `json:"refusals,omitempty"`
}

// EntryRefusal says that a follower answers and does not store the leader's entries.
type EntryRefusal struct {
	ID  string        `json:"id"`  // the configured id of the follower
	Why string        `json:"why"` // the follower's error
	For time.Duration `json:"for"` // since the first refusal after it last stored entries
}

// Work says what the work above Raft does while this replica leads.
type Work struct {
	// Done counts what got done. It grows while there is progress.
	Done uint64
	// Waiting says what waits to be done, or is empty if nothing does.
	Waiting string
}

// Progress returns what this replica knows now. It does not block, whatever else is blocked.
func (c *Cluster) Progress() Progress {
	in := c.current()
	p := Progress{Leads: c.IsLeader(), Commit: in.raft.CommitIndex(), Applied: c.AppliedIndex(), Last: in.raft.LastIndex()}
	p.Stalled, p.Why = c.progress.worst()
	if p.Leads {
		for _, r := range c.transport.Refusals() {
			id, _ := identity.Split(r.Server)
			p.Refusals = append(p.Refusals, EntryRefusal{ID: id, Why: r.Why, For: time.Since(r.Since)})
		}
	}
	return p
}

// stall measures how long one kind of work has waited without progress.
type stall struct {
	mark [2]uint64 // changes with progress
	age  time.Duration
	why  string
}

// observe records the state of the work after some time has passed. why is empty if nothing waits.
func (s *stall) observe(mark [2]uint64, why string, passed time.Duration) {
	if why == "" || mark != s.mark {
		*s = stall{mark: mark}
		return
	}
	s.age, s.why = s.age+passed, why
}

// progressWatch measures the stalls of each kind of work.
type progressWatch struct {
	mu   sync.Mutex
	log  stall // entries that are not committed or not applied
	loop stall // requests to raft's main loop
	work stall // the work above Raft

	asked, answered atomic.Uint64 // requests to raft's main loop
	restoring       atomic.Int64  // restores of backups, which block the main loop
}

// worst returns the longest stall.
func (w *progressWatch) worst() (time.Duration, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := w.loop // the kind that causes the others comes first
	for _, s := range []stall{w.log, w.work} {
		if s.age > most.age {
			most = s
		}
	}
	return most.age, most.why
}

// watchProgress measures stalls until the cluster closes. Of each interval no more than twice its
// nominal length counts: if this process was stopped, that is no stall.
func (c *Cluster) watchProgress() {
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	last := time.Now()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
		now := time.Now()
		c.observeProgress(min(now.Sub(last), 2*watchInterval))
		last = now
	}
}

// observeProgress looks once at each kind of work.
func (c *Cluster) observeProgress(passed time.Duration) {
	w := &c.progress
	leads := c.IsLeader()
	commit, applied := c.CommitIndex(), c.AppliedIndex()
	var log, loop string
	var work Work
	if w.restoring.Load() == 0 {
		log = c.waitingEntries(commit, applied)
		if leads {
			loop = c.waitingRequest()
		}
		if leads && c.cfg.Work != nil {
			work = c.cfg.Work()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log.observe([2]uint64{commit, applied}, log, passed)
	w.loop.observe([2]uint64{w.answered.Load()}, loop, passed)
	w.work.observe([2]uint64{work.Done, applied}, work.Waiting, passed)
}

// waitingEntries says which entries wait, or returns "".
func (c *Cluster) waitingEntries(commit, applied uint64) string {
	last := c.LastIndex()
	switch {
	case last > commit:
		text := fmt.Sprintf("entry %d is not committed", commit+1)
		if r := c.refusalText(); r != "" {
			text += ": " + r
		}
		return text
	case applied < commit && c.stores.Logs.Peek(applied+1, new(raft.Log)) == nil: // after a snapshot that ends with a no-op there is no such entry
		return fmt.Sprintf("entry %d is committed and not applied", applied+1)
	}
	return ""
}

// refusalText names the followers that refuse entries, with their errors. It is empty on a replica
// that does not lead.
func (c *Cluster) refusalText() string {
	if !c.IsLeader() {
		return ""
	}
	var all []string
	for _, r := range c.transport.Refusals() {
		id, _ := identity.Split(r.Server)
		all = append(all, fmt.Sprintf("%s refuses: %s", id, r.Why))
	}
	return strings.Join(all, "; ")
}

// waitingRequest asks raft's main loop to serve a request, if it has served the one before. It says
// what the main loop does if it has not.
func (c *Cluster) waitingRequest() string {
	w := &c.progress
	if w.asked.Load() == w.answered.Load() {
		w.asked.Add(1)
		c.goRun(func() {
			c.transport.AwaitServed(c.ctx.Done())
			w.answered.Add(1)
		})
	}
	if age := c.guard.OldestWrite(time.Now()); age >= watchInterval {
		return fmt.Sprintf("a disk write has not returned for %s", age.Round(time.Second))
	}
	return "raft does not serve requests"
}
