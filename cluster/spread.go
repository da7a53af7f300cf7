package cluster

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Followers learn what is committed by the next request to append, which on an idle cluster is the one that
// CommitTimeout sends. A caller at a follower's door waits for that follower to apply its entry, so the leader
// tells them at once when no further proposal is under way that would carry it (notice.go).
type spreader struct {
	inFlight atomic.Int64  // proposals whose outcome is open
	wake     chan struct{} // holds one

	mu   sync.Mutex
	busy map[raft.ServerID]bool // a notice is on its way to it
}

func newSpreader() spreader {
	return spreader{wake: make(chan struct{}, 1), busy: map[raft.ServerID]bool{}}
}

// ended counts a proposal out; committed says that there is something to tell.
func (s *spreader) ended(committed bool) {
	if s.inFlight.Add(-1) == 0 && committed {
		s.poke()
	}
}

func (s *spreader) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take says whether a notice may be sent to a replica: one at a time.
func (s *spreader) take(id raft.ServerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[id] {
		return false
	}
	s.busy[id] = true
	return true
}

func (s *spreader) release(id raft.ServerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, id)
}

const (
	// commitYields is how often others may run first, who may be about to propose.
	commitYields  = 4
	noticeTimeout = 500 * time.Millisecond
)

// watchCommits tells the others of commits until the replica ends.
func (c *Cluster) watchCommits() {
	for {
		select {
		case <-c.spread.wake:
			if c.quiet() {
				c.spreadCommit()
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// quiet says that no proposal is under way, nor made by those who are ready to run.
func (c *Cluster) quiet() bool {
	for range commitYields {
		if c.spread.inFlight.Load() > 0 {
			return false // the end of that one wakes again
		}
		runtime.Gosched()
	}
	return c.spread.inFlight.Load() == 0
}

// spreadCommit sends a notice to each replica that has none on its way.
func (c *Cluster) spreadCommit() {
	n, ok := c.committed()
	if !ok {
		return
	}
	self := c.Identity().ServerID()
	for _, s := range c.current().raft.GetConfiguration().Configuration().Servers {
		if s.ID == self || !c.spread.take(s.ID) {
			continue
		}
		c.goRun(func() {
			ctx, cancel := context.WithTimeout(c.ctx, noticeTimeout)
			defer cancel()
			_, err := c.peer.Call(ctx, string(s.Address), methodCommitted, n.encode()) // CommitTimeout is there for those that are lost
			c.spread.release(s.ID)
			if err == nil && c.current().raft.CommitIndex() > n.index {
				c.spread.poke()
			}
		})
	}
}

// committed is the newest commit of the present term's leader, if that is this replica.
func (c *Cluster) committed() (notice, bool) {
	in := c.current()
	n := notice{term: in.raft.CurrentTerm()}
	if in.raft.State() != raft.Leader {
		return n, false
	}
	n.index = in.raft.CommitIndex()
	var l raft.Log
	if c.stores.Logs.Peek(n.index, &l) != nil {
		return n, false // compacted: everybody who counts has it
	}
	n.entryTerm = l.Term
	return n, in.raft.State() == raft.Leader && in.raft.CurrentTerm() == n.term
}
