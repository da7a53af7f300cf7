package rafttransport

import (
	"github.com/hashicorp/raft"
)

// Work-around W3: a voter whose promotion this replica does not know (v1.8.0, raft.go: requestVote,
// requestPreVote, the checks of the candidate's id).
//
// Library: it refuses its vote to a candidate that is not a voter in its own membership. Suppose
// that a and c are voters, c is cut off, b is promoted, and a dies. b has the newest log and needs
// c's vote. c refuses, and cannot win itself. There is no leader although two of three voters are
// up.
// Guard: Raft's own rule (Ongaro's thesis, 4.1) is that a voter decides by the candidate's log
// only, and a candidate counts by its own membership. If a candidate's log extends beyond ours,
// that part may contain its promotion, so its log alone decides. A candidate that was demoted or
// removed and does not know it has a log that ends before ours, and is still refused.
// Test: TestLateVoterIsJudgedByItsLog; in cluster TestLateVoter, TestLateVoterCampaigns.
// Delete when: the library decides about a vote by the candidate's log alone.

// isLateVoter reports whether a candidate is not a voter here, but may be one by entries that this
// log does not have.
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

// judgeVote returns the request for raft. For a late voter it removes the candidate's id: the
// library then skips the check of the membership and makes all the others.
func (tr *Transport) judgeVote(q *raft.RequestVoteRequest) *raft.RequestVoteRequest {
	tr.replica.VoteRequested(q.Term)
	if !tr.isLateVoter(q.ID, q.LastLogTerm, q.LastLogIndex) {
		return q
	}
	tr.logger.Info("a candidate was promoted by entries that this log does not have: judging it by its log", "candidate",
		string(q.ID), "term", q.Term)
	unnamed := *q
	unnamed.ID = nil
	return &unnamed
}

// answerPreVote answers the pre-vote request of a late voter, since the library would check the
// candidate's id. It returns nil if raft is to answer. A pre-vote binds no replica; raft decides
// about the vote itself.
func (tr *Transport) answerPreVote(q *raft.RequestPreVoteRequest) *raft.RequestPreVoteResponse {
	if !tr.isLateVoter(q.ID, q.LastLogTerm, q.LastLogIndex) {
		return nil
	}
	if tr.replica.LeaderKnown() || q.Term < tr.replica.Term() {
		return nil
	}
	return &raft.RequestPreVoteResponse{RPCHeader: tr.replica.Header(), Term: q.Term, Granted: true}
}
