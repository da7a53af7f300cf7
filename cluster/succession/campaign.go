package succession

import (
	"slices"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/internal/failpoint"
)

// Campaign starts an election here at once. Raft takes TimeoutNow only as a follower. A candidate
// that lost becomes one first, by a vote request of our own with an empty log and a term above the
// one that it may just be about to take: that raises the term and gets no vote.
func (s *Succession) Campaign() {
	failpoint.Hit(failpoint.CrashStand)
	if s.cfg.Replica.State() == raft.Candidate {
		s.cfg.Transport.Inject(&raft.RequestVoteRequest{RPCHeader: s.cfg.Replica.Header(), Term: s.cfg.Replica.Term() + 2}, s.ctx.Done())
	}
	if s.cfg.Replica.State() == raft.Follower {
		s.cfg.Transport.Inject(&raft.TimeoutNowRequest{RPCHeader: s.cfg.Replica.Header()}, s.ctx.Done())
	}
}

// requestElectionOf tells the voter with the longest log to campaign, as a leader does that hands
// over. A voter with a shorter log cannot win: to campaign again and again would only end the other
// one's elections. That one may have no proof, or may have won, have been deposed by a try of ours
// and wait for its timers now.
func (s *Succession) requestElectionOf(id string) {
	servers := s.cfg.Replica.Configuration().Servers
	i := slices.IndexFunc(servers, func(v raft.Server) bool { return identity.Matches(v.ID, id) })
	if i < 0 {
		return
	}
	s.cfg.Go(func() {
		if err := s.RequestElection(servers[i]); err != nil {
			s.cfg.Logger.Debug("cannot tell a voter to start an election", "replica", id, "error", err)
		}
	})
}

// RequestElection tells another voter to campaign at once. It goes past raft, whose main loop may
// be inside a write that does not return.
func (s *Succession) RequestElection(v raft.Server) error {
	return s.cfg.Caller.TimeoutNow(v.ID, v.Address, &raft.TimeoutNowRequest{RPCHeader: s.cfg.Replica.Header()}, &raft.TimeoutNowResponse{})
}
