package planner

import (
	"testing"

	"rmd/fsm/event"
	"rmd/scheduler/input"
)

// TestJoinTokenLeaderClock checks that the lifetime of a join token starts at the leader's time.
// The clock of the replica that received the request does not count.
func TestJoinTokenLeaderClock(t *testing.T) {
	r := newRig(t)
	for ttl, good := range map[int64]bool{0: false, 999: false, 1000: true, 24 * 3_600_000: true,
		24*3_600_000 + 1: false} {
		hash := make([]byte, 32)
		hash[0] = byte(ttl % 251)
		reply, events := r.do(&input.CreateJoinToken{Hash: hash, Voter: true, TTLMillis: ttl})
		if (reply.Refused() == nil) != good {
			t.Fatalf("a token for %d ms: %v", ttl, reply.Refused())
		}
		for _, e := range events {
			if e, ok := e.(*event.JoinTokenCreated); ok && e.ExpiresMillis != r.p.State().Meta.NowMillis+ttl {
				t.Errorf("a token for %d ms ends at %d, it is %d", ttl, e.ExpiresMillis, r.p.State().Meta.NowMillis)
			}
		}
	}
}
