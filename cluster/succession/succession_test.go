package succession

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// survivor is the Replica of one of the voters a, b and c.
type survivor struct {
	term, last uint64
	state      raft.RaftState
}

func (s survivor) Term() uint64              { return s.term }
func (s survivor) State() raft.RaftState     { return s.state }
func (s survivor) LeaderID() string          { return "" }
func (s survivor) RaftLeader() raft.ServerID { return "" }
func (s survivor) LastContact() time.Time    { return time.Time{} }
func (s survivor) Configuration() raft.Configuration {
	return raft.Configuration{Servers: []raft.Server{{ID: "a.0"}, {ID: "b.0"}, {ID: "c.0"}}}
}
func (s survivor) Tail() (index, term uint64) { return s.last, 1 }
func (s survivor) StateIndex() uint64         { return s.last }
func (s survivor) Header() raft.RPCHeader     { return raft.RPCHeader{} }

// latePeers has no status from after the leader's death. Its statuses are older and show a shorter
// log.
type latePeers struct{}

func (latePeers) LastStatus(string) ([]byte, time.Time) {
	return PeerStatus{Term: 1, LastTerm: 1, LastIndex: 1}.Encode(), time.Now().Add(-time.Second)
}
func (latePeers) StatusChanged() <-chan struct{} { return nil }
func (latePeers) SendStatus()                    {}

func surviving(t *testing.T, server raft.ServerID, last uint64) *Succession {
	return New(t.Context(), Config{Server: server, Replica: survivor{term: 1, last: last, state: raft.Follower},
		Peers: latePeers{}, Logger: hclog.NewNullLogger()})
}

// TestStaleStatusRankingAgrees checks that two survivors which have not heard from each other since
// the death agree who campaigns first. Otherwise both would campaign, and neither would win.
func TestStaleStatusRankingAgrees(t *testing.T) {
	x, y := surviving(t, "a.0", 7).ranking("c", 1), surviving(t, "b.0", 7).ranking("c", 1)
	if !slices.Equal(x, y) || len(x) != 2 {
		t.Errorf("a would go by %v, b by %v", x, y)
	}
}

// TestWaitForMissingMajorityStatus checks that a survivor waits longer for a status without which
// it has no majority. With three voters it cannot win without the other survivor, whose log may be
// longer.
func TestWaitForMissingMajorityStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		surviving(t, "a.0", 7).awaitStatus("c", 1, start)
		if took := time.Since(start); took < voteWait {
			t.Errorf("it goes on after %s", took)
		}
	})
}

// reporting has the statuses of the other voters.
type reporting map[string]PeerStatus

func (p reporting) LastStatus(id string) ([]byte, time.Time) { return p[id].Encode(), time.Now() }
func (reporting) StatusChanged() <-chan struct{}             { return nil }
func (reporting) SendStatus()                                {}

// TestTurn checks that a replica does not campaign against one that is about to: it leaves the time of
// a vote to a replica that has reported the death, and little to one that may be dead, too.
func TestTurn(t *testing.T) {
	s := surviving(t, "c.0", 7)
	s.cfg.Peers = reporting{"a": {Term: 1, DeadLeaderTerm: 1}, "b": {Term: 1}}
	for want, before := range map[time.Duration][]string{0: nil, voteWait: {"a"}, stagger: {"b"}, voteWait + stagger: {"a", "b"}} {
		if got := s.turn(before, 1); got != want {
			t.Errorf("it leaves %s to %v, want %s", got, before, want)
		}
	}
}

func TestStatusCodec(t *testing.T) {
	p := PeerStatus{1, 2, 3, 4, 5, true}
	got, ok := DecodeStatus(p.Encode())
	if !ok || got != p {
		t.Fatalf("DecodeStatus(Encode()) = %+v, %v, want %+v, true", got, ok, p)
	}
	for _, b := range [][]byte{nil, {1}, make([]byte, statusSize), append(p.Encode(), 0)} {
		if _, ok := DecodeStatus(b); ok {
			t.Errorf("%x was taken", b)
		}
	}
}

// TestNoCampaignDuringVote checks that a replica does not campaign between a vote request and its
// synced answer, when its own term is still the old one: the campaign would depose the candidate
// that is about to win. The request of a candidate that died counts only for a moment.
func TestNoCampaignDuringVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Succession
		if s.isVoting(3) {
			t.Error("nobody has asked")
		}
		s.VoteRequested(4)
		s.VoteRequested(2) // a late request
		if !s.isVoting(3) || s.isVoting(4) {
			t.Error("asked for a vote in term 4")
		}
		time.Sleep(stagger)
		if s.isVoting(3) {
			t.Error("nobody came of it")
		}
	})
}
