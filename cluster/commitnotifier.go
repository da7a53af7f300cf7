package cluster

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"rmd/cluster/protocol"

	"github.com/hashicorp/raft"
)

// commitSender sends commit notices while this replica leads.
type commitSender struct {
	*core
	notifier commitNotifier
}

// commitNotifier is the leader's side of commit notices. Without notices, followers learn the
// commit index from the next AppendEntries request, which an idle leader sends only after
// CommitTimeout. A client of a follower waits until that follower has applied the client's entry.
// So the leader sends a notice (commitnotice.go) if no further proposal is in flight that would
// carry the commit index. The follower that forwarded the call also learns it from the leader's
// answer (Committed).
type commitNotifier struct {
	inFlight atomic.Int64  // proposals whose outcome is not known yet
	wakeup   chan struct{} // has room for one value

	mu   sync.Mutex
	busy map[raft.ServerID]bool // servers to which a notice is being sent
}

func newCommitNotifier() commitNotifier {
	return commitNotifier{wakeup: make(chan struct{}, 1), busy: map[raft.ServerID]bool{}}
}

// proposalEnded counts a proposal as ended. committed reports whether its entry was committed.
func (s *commitNotifier) proposalEnded(committed bool) {
	if s.inFlight.Add(-1) == 0 && committed {
		s.wake()
	}
}

// wake makes watchCommits check again.
func (s *commitNotifier) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// begin reports whether a notice may be sent to a replica. Only one is sent at a time.
func (s *commitNotifier) begin(id raft.ServerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[id] {
		return false
	}
	s.busy[id] = true
	return true
}

// end permits the next notice to a replica.
func (s *commitNotifier) end(id raft.ServerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, id)
}

const (
	// commitYields is how often noProposals lets other goroutines run, which may be about to
	// propose.
	commitYields        = 4
	commitNoticeTimeout = 500 * time.Millisecond
)

// watchCommits sends commit notices until the cluster closes.
func (s *commitSender) watchCommits() {
	for {
		select {
		case <-s.notifier.wakeup:
			if s.noProposals() {
				s.notifyCommit()
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// noProposals reports whether no proposal is in flight and no runnable goroutine makes one.
func (s *commitSender) noProposals() bool {
	for range commitYields {
		if s.notifier.inFlight.Load() > 0 {
			return false // the end of that proposal wakes watchCommits again
		}
		runtime.Gosched()
	}
	return s.notifier.inFlight.Load() == 0
}

// notifyCommit sends a notice to each other member, except to those that another notice is being
// sent to.
func (s *commitSender) notifyCommit() {
	n, ok := s.newestCommit()
	if !ok {
		return
	}
	self := s.Identity().ServerID()
	for _, to := range s.current().raft.GetConfiguration().Configuration().Servers {
		if to.ID == self || !s.notifier.begin(to.ID) {
			continue
		}
		s.goRun(func() {
			ctx, cancel := context.WithTimeout(s.ctx, commitNoticeTimeout)
			defer cancel()
			_, err := s.peer.Call(ctx, string(to.Address), protocol.Committed, n.encode()) // a lost notice does no harm: CommitTimeout follows
			s.notifier.end(to.ID)
			if err == nil && s.current().raft.CommitIndex() > n.index {
				s.notifier.wake()
			}
		})
	}
}

// newestCommit returns the newest commit of this replica's leadership. It returns false if this
// replica does not lead.
func (s *commitSender) newestCommit() (commitNotice, bool) {
	in := s.current()
	n := commitNotice{term: in.raft.CurrentTerm()}
	if in.raft.State() != raft.Leader {
		return n, false
	}
	n.index = in.raft.CommitIndex()
	var l raft.Log
	if s.stores.Logs.Peek(n.index, &l) != nil {
		return n, false // compacted: all members have the entry
	}
	n.entryTerm = l.Term
	return n, in.raft.State() == raft.Leader && in.raft.CurrentTerm() == n.term
}
