package cluster

import (
	"testing"
	"time"
)

// slowTimers make raft's own detection so slow that only crash detection can be quick.
func slowTimers(c *Config) {
	c.Heartbeat, c.Election, c.Lease = 3*time.Second, 3*time.Second, 2*time.Second
}

// TestCrashDetection: the end of the leader's process makes a new leader long before any timer.
func TestCrashDetection(t *testing.T) {
	rs := trio(t, nil)
	for _, r := range rs { // the same cluster again, with timers that cannot help
		r.stop()
		r.tweak = slowTimers
	}
	for _, r := range rs {
		r.start()
	}
	leaderSlow(t, rs)
	inStep(t, rs, put(t, rs, 20))
	for range 3 {
		l := leaderSlow(t, rs)
		time.Sleep(200 * time.Millisecond) // liveness connections to the new leader
		var left []*replica
		for _, r := range rs {
			if r != l {
				left = append(left, r)
			}
		}
		term := l.c.Term()
		start := time.Now()
		_ = l.srv.Close() // what the kernel does with a killed process
		eventually(t, 2500*time.Millisecond, "a new leader", func() bool {
			return left[0].c.IsLeader() && left[0].c.Term() > term || left[1].c.IsLeader() && left[1].c.Term() > term
		})
		t.Logf("new leader after %s", time.Since(start).Round(time.Millisecond))
		l.kill()
		put(t, left, 5)
		l.start()
		inStep(t, rs, put(t, rs, 5))
	}
}

// leaderSlow waits longer than leader.
func leaderSlow(t *testing.T, rs []*replica) *replica {
	t.Helper()
	eventually(t, 20*time.Second, "a leader", func() bool {
		for _, r := range rs {
			if r.c.IsLeader() {
				return true
			}
		}
		return false
	})
	return leader(t, rs)
}

// TestLostConnectionDeposesNobody: all connections of the leader are cut, its port stays open.
func TestLostConnectionDeposesNobody(t *testing.T) {
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	time.Sleep(200 * time.Millisecond)
	term := l.c.Term()
	for range 3 {
		l.srv.CloseConns()
		time.Sleep(100 * time.Millisecond)
	}
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !l.c.IsLeader() || l.c.Term() != term {
			t.Fatalf("leader of term %d was deposed: term %d", term, l.c.Term())
		}
	}
	for _, r := range rs {
		if n := r.c.Stats().Crashes; n != 0 {
			t.Errorf("%s saw %d crashes", r.id, n)
		}
	}
	inStep(t, rs, put(t, rs, 5))
}

// TestDoubtHoldsBack: a replica with a false proof (a firewall that refuses) does not depose a leader
// that another voter still hears.
func TestDoubtHoldsBack(t *testing.T) {
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	var f *replica
	for _, r := range rs {
		if r != l {
			f = r
		}
	}
	time.Sleep(300 * time.Millisecond) // notes have been exchanged
	term := l.c.Term()
	f.c.gone(l.id)
	time.Sleep(300 * time.Millisecond)
	if !l.c.IsLeader() || l.c.Term() != term {
		t.Fatalf("leader of term %d was deposed on a false proof", term)
	}
}

// TestStandFromCandidate: a candidate that lost stands again at once instead of sitting out its timer.
func TestStandFromCandidate(t *testing.T) {
	rs := trio(t, nil)
	for _, r := range rs {
		r.stop()
		r.tweak = slowTimers
	}
	a := rs[0].start() // alone: it can only be a candidate
	a.c.stand()
	eventually(t, time.Second, "candidate", func() bool { return a.c.current().raft.State().String() == "Candidate" })
	term := a.c.Term()
	a.c.stand()
	eventually(t, time.Second, "a higher term", func() bool { return a.c.Term() >= term+2 })
}

func TestPositionCodec(t *testing.T) {
	p := position{1, 2, 3, 4, 5, true}
	got, ok := decodePosition(p.encode())
	if !ok || got != p {
		t.Fatalf("got %+v", got)
	}
	for _, b := range [][]byte{nil, {1}, make([]byte, positionSize), append(p.encode(), 0)} {
		if _, ok := decodePosition(b); ok {
			t.Errorf("%x was taken", b)
		}
	}
}

// TestRestartedLeaderIsNotDeposed: the leader's process dies and comes back at once; whoever wins, the
// search for a successor ends with it.
func TestRestartedLeaderIsNotDeposed(t *testing.T) {
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	time.Sleep(200 * time.Millisecond)
	l.kill()
	l.start()
	now := leader(t, rs)
	term := now.c.Term()
	put(t, rs, 5)
	time.Sleep(700 * time.Millisecond) // longer than a search lasts
	if !now.c.IsLeader() || now.c.Term() != term {
		t.Fatalf("leader %s of term %d was deposed: term %d", now.id, term, now.c.Term())
	}
}
