package cluster

import (
	"github.com/hashicorp/raft"
)

// The library refuses the vote, and the vote before it, of a candidate that is no voter in the membership
// that the asked replica knows. Raft needs that vote: of the voters a and c, c is cut off while b is
// promoted, and then a dies. b has the newest log; c, which has not heard of b's promotion, would refuse
// it, and win nothing itself, though two of three voters are up. Raft's own rule (Ongaro's thesis, 4.1) is
// to look at the log only: who grants goes by the candidate's log, who counts by its own membership. So a
// candidate whose log goes beyond ours, where the promotion may stand, is judged by its log alone. One that
// was demoted or removed and does not know it has a log that ends before ours, and stays refused.

// unheardVoter says whether a candidate is no voter here and may be one by entries that are not here.
func (c *Cluster) unheardVoter(id []byte, lastTerm, lastIndex uint64) bool {
	if len(id) == 0 || c.current() == nil {
		return false
	}
	if s, ok := find(c.configuration(), string(id)); ok && s.Suffrage == raft.Voter {
		return false
	}
	last, term := c.stores.Logs.Tail()
	return lastTerm > term || lastTerm == term && lastIndex > last
}

// vote is the request for raft. Without its candidate's id the library judges all of it but the membership.
func (c *Cluster) vote(q *raft.RequestVoteRequest) *raft.RequestVoteRequest {
	c.crash.ask(q.Term)
	if !c.unheardVoter(q.ID, q.LastLogTerm, q.LastLogIndex) {
		return q
	}
	c.log.Info("a candidate was promoted by entries that are not here: its log decides", "candidate", string(q.ID), "term", q.Term)
	unnamed := *q
	unnamed.ID = nil
	return &unnamed
}

// preVote is the answer for such a candidate, where the library would look for the id; nil when raft is to
// answer. It binds nobody: the vote itself is raft's.
func (c *Cluster) preVote(q *raft.RequestPreVoteRequest) *raft.RequestPreVoteResponse {
	if !c.unheardVoter(q.ID, q.LastLogTerm, q.LastLogIndex) {
		return nil
	}
	in := c.current()
	if leader, _ := in.raft.LeaderWithID(); leader != "" || q.Term < in.raft.CurrentTerm() {
		return nil
	}
	return &raft.RequestPreVoteResponse{RPCHeader: c.header(), Term: q.Term, Granted: true}
}
