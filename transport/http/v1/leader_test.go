package v1

import (
	"testing"
	"time"

	"rmd/api"
)

func TestFirstLeaderSince(t *testing.T) {
	now := time.UnixMilli(5000)
	l := leaderClock{now: func() time.Time { return now }}
	first := &firstLeader{leader: "rm9"}
	if l.since(first) != 5000 {
		t.Errorf("first leader since %d", l.since(first))
	}
	now = now.Add(time.Second)
	if l.since(first) != 5000 {
		t.Error("it moved")
	}
	first.leader = ""
	if l.since(first) != 0 {
		t.Error("nobody leads")
	}
}

// firstLeader is a Consensus that has seen no failover.
type firstLeader struct {
	Consensus
	leader string
}

func (f *firstLeader) Leader() (string, string)  { return f.leader, "" }
func (*firstLeader) Term() uint64                { return 7 }
func (*firstLeader) LastFailover() *api.Failover { return nil }
