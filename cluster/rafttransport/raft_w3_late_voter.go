package rafttransport

import (
	"github.com/hashicorp/raft"
)

// Work-around W3: a voter whose promotion this replica has not heard of (v1.8.0, raft.go:
// requestVote, requestPreVote, the checks of the candidate's id).
//
// Library: it refuses its vote to a candidate that is no voter in the membership it knows. Of the
// voters a and c, c is cut off while b is promoted, and a dies. b has the newest log and needs c's
// vote; c refuses, and cannot win itself. Nobody leads though two of three voters are up.
// Guard: Raft's own rule (Ongaro's thesis, 4.1) is to look at the log only: the voter goes by the
// candidate's log, the candidate by its own membership. A candidate whose log goes beyond ours,
// where the promotion may stand, is judged by its log alone. One that was demoted or removed and
// does not know it has a log that ends before ours, and stays refused.
// Test: TestLateVoterIsJudgedByItsLog; in cluster TestLateVoter, TestLateVoterCampaigns.
// Delete when: the library judges a vote by the candidate's log alone.

// isLateVoter says whether a candidate is no voter here and may be one by entries that are not
// here.
func (tr *Transport) isLateVoter(id []byte, lastTerm, lastIndex uint64) bool {
	if len(id) == 0 || !tr.replica.Running() {
		return false
	}
	for _, s := range tr.replica.Configuration().Servers {
		if s.ID == raft.ServerID(id) && s.Suffrage == raft.Voter {
			return false
		}
	}
	last, term := tr.log.Tail()
	return lastTerm > term || lastTerm == term && lastIndex > last
}

// judgeVote returns the request for raft. Without the candidate's id the library judges all of it
// but the membership.
func (tr *Transport) judgeVote(q *raft.RequestVoteRequest) *raft.RequestVoteRequest {
	tr.replica.VoteRequested(q.Term)
	if !tr.isLateVoter(q.ID, q.LastLogTerm, q.LastLogIndex) {
		return q
	}
	tr.logger.Info("a candidate was promoted by entries that this log does not have: judging it by its log", "candidate", string(q.ID), "term", q.Term)
	unnamed := *q
	unnamed.ID = nil
	return &unnamed
}

// answerPreVote answers such a candidate in the library's place, which would look for the id. It
// returns nil when raft is to answer. A pre-vote binds nobody: the vote itself is raft's.
func (tr *Transport) answerPreVote(q *raft.RequestPreVoteRequest) *raft.RequestPreVoteResponse {
	if !tr.isLateVoter(q.ID, q.LastLogTerm, q.LastLogIndex) {
		return nil
	}
	if tr.replica.LeaderKnown() || q.Term < tr.replica.Term() {
		return nil
	}
	return &raft.RequestPreVoteResponse{RPCHeader: tr.replica.Header(), Term: q.Term, Granted: true}
}
