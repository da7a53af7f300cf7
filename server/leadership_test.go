package server

import (
	"fmt"
	"testing"
	"time"

	"rmd/cluster"
)

// TestFailoversAreRemembered checks that the last failoversKept failovers are kept, each with the
// time without a leader.
func TestFailoversAreRemembered(t *testing.T) {
	var f failoverClock
	now := time.UnixMilli(1_780_000_000_000)
	if f.follow(cluster.Leadership{LeaderID: "rm0", Term: 1}, 0, now) != nil || len(f.seen) != 0 {
		t.Fatal("the first leader a replica hears of is no failover")
	}
	const all = failoversKept + 4
	for i := 1; i <= all; i++ {
		now = now.Add(time.Minute)
		f.follow(cluster.Leadership{}, 0, now)
		now = now.Add(200 * time.Millisecond)
		f.follow(cluster.Leadership{LeaderID: fmt.Sprintf("rm%d", i%3), Term: uint64(i + 1)}, 0, now)
	}
	if len(f.seen) != failoversKept {
		t.Fatalf("%d are kept", len(f.seen))
	}
	for i, s := range f.seen {
		if want := uint64(all - failoversKept + i + 2); s.Term != want || s.Millis != 200 || s.OldLeader == s.NewLeader {
			t.Errorf("%d: %+v, want term %d", i, s, want)
		}
	}
	if last := f.seen[failoversKept-1]; *f.last != last {
		t.Errorf("the last is %+v, of those remembered %+v", *f.last, last)
	}
}

// TestFailoversInARow checks that the last failover is the whole interruption if a leader steps down
// soon after its election and has decided nothing, and that each election is remembered.
func TestFailoversInARow(t *testing.T) {
	for _, c := range []struct {
		led       time.Duration // between the two elections
		decided   uint64        // the term of the last decision
		elections int
		millis    float64
	}{{400 * time.Millisecond, 5, 2, 25_224}, {400 * time.Millisecond, 6, 0, 772}, {time.Minute, 5, 0, 772}} {
		var f failoverClock
		now := time.UnixMilli(1_780_000_000_000)
		tell := func(after time.Duration, leader string, term uint64) {
			now = now.Add(after)
			f.follow(cluster.Leadership{LeaderID: leader, Term: term}, c.decided, now)
		}
		tell(0, "rm1", 5)
		tell(time.Hour, "", 5)
		tell(24_452*time.Millisecond, "rm2", 6)
		tell(c.led, "", 6)
		tell(772*time.Millisecond, "rm1", 7)
		old := map[int]string{0: "rm2", 2: "rm1"}[c.elections]
		if l := f.last; l.Elections != c.elections || l.Millis != c.millis || l.OldLeader != old || l.NewLeader != "rm1" ||
			l.Term != 7 || len(f.seen) != 2 || f.seen[1].Millis != 772 {
			t.Errorf("led %s: %+v of %+v", c.led, l, f.seen)
		}
	}
}

// TestLedSince checks that the time since which this replica leads is that of the term, also if the
// replica learns of no moment between two terms, and that it stays when the leadership is told again.
func TestLedSince(t *testing.T) {
	var f failoverClock
	for _, c := range []struct {
		term      uint64
		here      bool
		at, since int64
	}{{1, true, 1000, 1000}, {1, true, 2000, 1000}, {3, true, 3000, 3000}, {4, false, 4000, 3000}} {
		f.follow(cluster.Leadership{LeaderID: "rm1", Term: c.term, IsLeader: c.here}, 0, time.UnixMilli(c.at))
		if got := f.since.UnixMilli(); got != c.since {
			t.Errorf("at %d, in term %d: since %d, want %d", c.at, c.term, got, c.since)
		}
	}
}
