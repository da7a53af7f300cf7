package commits

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/local"
	"rmd/cluster/protocol"
)

// Sender sends commit notices while this replica leads.
type Sender struct {
	*local.Replica
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

// NewSender returns a Sender without a proposal in flight.
func NewSender(c *local.Replica) *Sender {
	return &Sender{Replica: c, notifier: newCommitNotifier()}
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

// wake makes Sender.Run check again.
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

// Proposed counts a proposal as in flight until ended is called.
func (s *Sender) Proposed() { s.notifier.inFlight.Add(1) }

// Ended counts a proposal as ended. committed reports whether its entry was committed.
func (s *Sender) Ended(committed bool) { s.notifier.proposalEnded(committed) }

// Run sends commit notices until the cluster closes.
func (s *Sender) Run() {
	for {
		select {
		case <-s.notifier.wakeup:
			if s.noProposals() {
				s.notifyCommit()
			}
		case <-s.Context.Done():
			return
		}
	}
}

// noProposals reports whether no proposal is in flight and no runnable goroutine makes one.
func (s *Sender) noProposals() bool {
	for range commitYields {
		if s.notifier.inFlight.Load() > 0 {
			return false // the end of that proposal wakes Sender.Run again
		}
		runtime.Gosched()
	}
	return s.notifier.inFlight.Load() == 0
}

// notifyCommit sends a notice to each other member, except to those that another notice is being
// sent to.
func (s *Sender) notifyCommit() {
	n, ok := s.newestCommit()
	if !ok {
		return
	}
	self := s.Identity().ServerID()
	for _, to := range s.Current().Raft.GetConfiguration().Configuration().Servers {
		if to.ID == self || !s.notifier.begin(to.ID) {
			continue
		}
		s.Go(func() {
			ctx, cancel := context.WithTimeout(s.Context, commitNoticeTimeout)
			defer cancel()
			// a lost notice does no harm: CommitTimeout follows
			_, err := s.Peer.Call(ctx, string(to.Address), protocol.Committed, n.Encode())
			s.notifier.end(to.ID)
			if err == nil && s.Current().Raft.CommitIndex() > n.Index {
				s.notifier.wake()
			}
		})
	}
}

// newestCommit returns the newest commit of this replica's leadership. It returns false if this
// replica does not lead.
func (s *Sender) newestCommit() (Notice, bool) {
	in := s.Current()
	n := Notice{Term: in.Raft.CurrentTerm()}
	if in.Raft.State() != raft.Leader {
		return n, false
	}
	n.Index = in.Raft.CommitIndex()
	var l raft.Log
	if s.Stores.Logs.Peek(n.Index, &l) != nil {
		return n, false // compacted: all members have the entry
	}
	n.EntryTerm = l.Term
	return n, in.Raft.State() == raft.Leader && in.Raft.CurrentTerm() == n.Term
}
