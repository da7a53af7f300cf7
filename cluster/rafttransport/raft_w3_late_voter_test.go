package rafttransport

import (
	"testing"

	"github.com/hashicorp/raft"
)

// TestLateVoterIsJudgedByItsLog checks which candidates are accepted because of their log, and
// which are still refused.
func TestLateVoterIsJudgedByItsLog(t *testing.T) {
	const last, term = 10, 4
	c := over(t, &replica{term: term, last: last, lastTerm: term,
		members: []raft.Server{{ID: "a.0"}, {ID: "b.0", Suffrage: raft.Nonvoter}, {ID: "c.0"}}}, fed{})
	defer c.Stop()
	for _, x := range []struct {
		what        string
		id          string
		term, index uint64
		want        bool
	}{
		{"a non-voter with more entries", "b.0", term, last + 1, true},
		{"a non-voter with a newer entry", "b.0", term + 1, 1, true},
		{"a stranger with more entries", "d.0", term, last + 1, true},
		{"a non-voter with the same log", "b.0", term, last, false},
		{"a non-voter with less", "b.0", term, last - 1, false},
		{"one of an older term", "b.0", term - 1, last + 9, false},
		{"a voter", "a.0", term + 1, last + 9, false},
		{"nobody", "", term + 1, last + 9, false},
	} {
		if got := c.isLateVoter([]byte(x.id), x.term, x.index); got != x.want {
			t.Errorf("%s: isLateVoter(%q, %d, %d) = %v, want %v", x.what, x.id, x.term, x.index, got, x.want)
		}
		q := &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte(x.id), Addr: []byte("b")}, Term: term + 2,
			LastLogTerm: x.term, LastLogIndex: x.index}
		if got := c.judgeVote(q); (len(got.ID) == 0) != (x.want || x.id == "") || string(got.Addr) != "b" ||
			string(q.ID) != x.id {
			t.Errorf("%s: the request is %+v, and was %+v", x.what, got, q)
		}
	}
}
