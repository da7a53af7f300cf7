package succession

import (
	"slices"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/internal/failpoint"
)

// Campaign starts an election immediately. Raft accepts TimeoutNow only as a follower, so a
// candidate that lost must become one first. For this Campaign injects a vote request with an empty
// log and a term above the one that the candidate may be about to enter: it raises the term and
// gets no vote.
func (s *Succession) Campaign() {
	failpoint.Hit(failpoint.CrashStand)
	if s.cfg.Replica.State() == raft.Candidate {
		s.cfg.Transport.Inject(&raft.RequestVoteRequest{RPCHeader: s.cfg.Replica.Header(), Term: s.cfg.Replica.Term() + 2},
			s.ctx.Done())
	}
	if s.cfg.Replica.State() == raft.Follower {
		s.cfg.Transport.Inject(&raft.TimeoutNowRequest{RPCHeader: s.cfg.Replica.Header()}, s.ctx.Done())
	}
}

// requestElectionOf tells the voter with the longest log to campaign, as in a leadership transfer.
// A voter with a shorter log cannot win: its own campaigns would only interrupt the other's
// elections. The other voter may lack the proof that the leader is dead. Or it may have won, lost
// leadership to one of our campaigns, and now wait for its timers.
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

// RequestElection tells another voter to campaign immediately. It bypasses raft, whose main loop
// may be blocked by a write.
func (s *Succession) RequestElection(v raft.Server) error {
	return s.cfg.Caller.TimeoutNow(v.ID, v.Address, &raft.TimeoutNowRequest{RPCHeader: s.cfg.Replica.Header()},
		&raft.TimeoutNowResponse{})
}
