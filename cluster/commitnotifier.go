package cluster

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// commitNotifier is the leader's side of commit notices. Followers learn what is committed by the
// next request to append, which on an idle cluster is the one that CommitTimeout sends. A client
// that asked a follower waits until that follower has applied its entry. So the leader sends a
// notice (commitnotice.go) when no further proposal is under way that would carry the commit. A follower
// that the client asked also learns it from the leader's answer (Committed).
type commitNotifier struct {
	inFlight atomic.Int64  // proposals whose outcome is open
	wakeup   chan struct{} // holds one

	mu   sync.Mutex
	busy map[raft.ServerID]bool // a notice is on its way to it
}

func newCommitNotifier() commitNotifier {
	return commitNotifier{wakeup: make(chan struct{}, 1), busy: map[raft.ServerID]bool{}}
}

// proposalEnded counts a proposal out; committed says that there is something to tell.
func (s *commitNotifier) proposalEnded(committed bool) {
	if s.inFlight.Add(-1) == 0 && committed {
		s.wake()
	}
}

// wake has watchCommits look again.
func (s *commitNotifier) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// begin says whether a notice may be sent to a replica: one at a time.
func (s *commitNotifier) begin(id raft.ServerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[id] {
		return false
	}
	s.busy[id] = true
	return true
}

// end lets the next notice be sent to a replica.
func (s *commitNotifier) end(id raft.ServerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, id)
}

const (
	// commitYields is how often goroutines may run first that may be about to propose.
	commitYields        = 4
	commitNoticeTimeout = 500 * time.Millisecond
)

// watchCommits sends commit notices until the replica ends.
func (c *Cluster) watchCommits() {
	for {
		select {
		case <-c.commits.wakeup:
			if c.noProposals() {
				c.notifyCommit()
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// noProposals says that no proposal is under way, and that no runnable goroutine makes one.
func (c *Cluster) noProposals() bool {
	for range commitYields {
		if c.commits.inFlight.Load() > 0 {
			return false // the end of that one wakes again
		}
		runtime.Gosched()
	}
	return c.commits.inFlight.Load() == 0
}

// notifyCommit sends a notice to each replica that has none on its way.
func (c *Cluster) notifyCommit() {
	n, ok := c.newestCommit()
	if !ok {
		return
	}
	self := c.Identity().ServerID()
	for _, s := range c.current().raft.GetConfiguration().Configuration().Servers {
		if s.ID == self || !c.commits.begin(s.ID) {
			continue
		}
		c.goRun(func() {
			ctx, cancel := context.WithTimeout(c.ctx, commitNoticeTimeout)
			defer cancel()
			_, err := c.peer.Call(ctx, string(s.Address), methodCommitted, n.encode()) // CommitTimeout makes up for lost notices
			c.commits.end(s.ID)
			if err == nil && c.current().raft.CommitIndex() > n.index {
				c.commits.wake()
			}
		})
	}
}

// newestCommit is the newest commit of this replica's leadership; false when it does not lead.
func (c *Cluster) newestCommit() (commitNotice, bool) {
	in := c.current()
	n := commitNotice{term: in.raft.CurrentTerm()}
	if in.raft.State() != raft.Leader {
		return n, false
	}
	n.index = in.raft.CommitIndex()
	var l raft.Log
	if c.stores.Logs.Peek(n.index, &l) != nil {
		return n, false // compacted: every member has it
	}
	n.entryTerm = l.Term
	return n, in.raft.State() == raft.Leader && in.raft.CurrentTerm() == n.term
}
