package cluster

import (
	"testing"
	"time"

	"rmd/cluster/succession"
)

// soonerThanTimers is shorter than raft's own detection in these tests. A leader that is elected
// sooner was elected because of crash detection.
const soonerThanTimers = calm * 2 / 3

// roundsMax is the maximum number of crashes until crash detection must have found three.
const roundsMax = 10

// TestCrashDetection checks that the end of the leader's process leads to a new leader long before
// any timer expires. On a busy machine this may fail in some rounds: a replica that cannot dial
// within a quarter of a second has no proof of the death, and the timers decide.
func TestCrashDetection(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	inStep(t, rs, put(t, rs, 20))
	quick := 0
	for round := 0; quick < 3; round++ {
		if round == roundsMax {
			t.Fatalf("%d of %d crashes were found before raft's own timers found them", quick, round)
		}
		l := leader(t, rs)
		acquainted(t, rs)
		left := without(rs, l)
		term := l.c.Term()
		start := time.Now()
		_ = l.srv.Close() // as the kernel does with a killed process
		eventually(t, patience, "a new leader", func() bool {
			return left[0].c.IsLeader() && left[0].c.Term() > term || left[1].c.IsLeader() && left[1].c.Term() > term
		})
		t.Logf("new leader after %s", time.Since(start).Round(time.Millisecond))
		if time.Since(start) < soonerThanTimers {
			quick++
		}
		l.kill()
		put(t, left, 5)
		l.start()
		inStep(t, rs, put(t, rs, 5))
	}
}

// TestLostConnectionDeposesNobody cuts all connections of the leader and leaves its port open. The
// leader must stay.
func TestLostConnectionDeposesNobody(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	term := l.c.Term()
	for range 3 {
		acquainted(t, rs)
		l.srv.CloseConns()
		time.Sleep(100 * time.Millisecond)
	}
	staysLeader(t, l, term, 500*time.Millisecond)
	for _, r := range rs {
		if n := r.c.Stats().Crashes; n != 0 {
			t.Errorf("%s saw %d crashes", r.id, n)
		}
	}
	inStep(t, rs, put(t, rs, 5))
}

// staysLeader checks for a time d that l stays leader in the same term.
func staysLeader(t *testing.T, l *replica, term uint64, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !l.c.IsLeader() || l.c.Term() != term {
			t.Fatalf("leader %s of term %d was deposed: term %d", l.id, term, l.c.Term())
		}
	}
}

// promptPeer is a Peer whose statuses always appear to have just arrived, or never arrive if it is
// deaf. A Succession waits only milliseconds for statuses, and a busy machine may need longer for
// one.
type promptPeer struct {
	Peer
	deaf bool
}

// LastStatus returns the newest status, as if it had just arrived.
func (p promptPeer) LastStatus(id string) ([]byte, time.Time) {
	if p.deaf {
		return nil, time.Time{}
	}
	b, _ := p.Peer.LastStatus(id)
	return b, time.Now()
}

// TestFalseCrashProofKeepsLeader checks that a replica with a false proof of death (a firewall that
// refuses connections) does not depose a leader that another voter still hears. A replica that gets
// no status acts on its proof.
func TestFalseCrashProofKeepsLeader(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		rs := trio(t, func(c *Config) { c.Peer = promptPeer{c.Peer, deaf} })
		put(t, rs, 5)
		l := leader(t, rs)
		f := follower(rs, l)
		term := l.c.Term()
		if deaf {
			f.c.lead.Succession.ProcessDead(l.id)
			eventually(t, soonerThanTimers, "it stands", func() bool { return f.c.Term() > term })
			continue
		}
		acquainted(t, rs)
		f.c.lead.Succession.ProcessDead(l.id)
		staysLeader(t, l, term, 500*time.Millisecond)
	}
}

// TestFalseCrashProofWithdrawn checks that a replica withdraws a false proof of death when the
// leader reports that it leads. Otherwise it would report until the end of the term that it hears
// no leader.
func TestFalseCrashProofWithdrawn(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	term := l.c.Term()
	acquainted(t, rs)
	f := follower(rs, l)
	f.c.lead.Succession.ProcessDead(l.id)
	eventually(t, patience, f.id+" hears "+l.id+" again", func() bool {
		p := f.c.lead.Succession.Status()
		return p.HearsLeader && p.DeadLeaderTerm == 0
	})
	if now := f.c.Term(); now != term {
		t.Errorf("term %d, it was %d", now, term)
	}
	put(t, rs, 5)
}

// calmPeer is a Peer on which no replica reports that it hears a leader, so every proof counts.
type calmPeer struct{ Peer }

// LastStatus returns the newest status with HearsLeader set to false.
func (p calmPeer) LastStatus(id string) ([]byte, time.Time) {
	b, _ := p.Peer.LastStatus(id)
	if have, ok := succession.DecodeStatus(b); ok {
		have.HearsLeader = false
		b = have.Encode()
	}
	return b, time.Now()
}

// TestShorterLogRequestsElection checks the case that the only replica with a proof of death has
// the shorter log and cannot win. Its first campaign deposes the leader. Then it must tell the
// voter with the longer log to campaign, instead of interrupting that voter's elections.
func TestShorterLogRequestsElection(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) { c.Peer = calmPeer{c.Peer} })
	inStep(t, rs, put(t, rs, 5))
	l := leader(t, rs)
	behind := follower(rs, l)
	other := follower(without(rs, behind), l)
	behind.c.core.Transport.RefuseEntries(true)
	inStep(t, []*replica{l, other}, put(t, []*replica{l}, 5))
	eventually(t, patience, "the longer log is known", func() bool {
		last, term := behind.c.core.Stores.Logs.Tail()
		p := behind.c.lead.Succession.StatusOf(other.c.Identity().ServerID())
		return p.LastTerm == term && p.LastIndex > last
	})
	behind.c.lead.Succession.ProcessDead(l.id)
	eventually(t, soonerThanTimers, "the one with the longer log leads", other.c.IsLeader)
}

// TestCampaignFromCandidate checks that a candidate that lost can campaign again at once.
func TestCampaignFromCandidate(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	for _, r := range rs {
		r.stop()
	}
	a := rs[0].start() // without the others it can only become a candidate
	a.c.lead.Succession.Campaign()
	eventually(t, soonerThanTimers, "candidate",
		func() bool { return a.c.core.Current().Raft.State().String() == "Candidate" })
	term := a.c.Term()
	a.c.lead.Succession.Campaign()
	eventually(t, soonerThanTimers, "a higher term", func() bool { return a.c.Term() >= term+2 })
}

// TestRestartedLeaderIsNotDeposed kills the leader's process and restarts it at once. The next
// leader, the same replica or another, must end the search for a successor. (Otherwise a search
// lasts three timeouts.)
func TestRestartedLeaderIsNotDeposed(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	acquainted(t, rs)
	l.kill()
	l.start()
	put(t, rs, 5)
	for end := time.Now().Add(2 * calm); ; {
		now := leader(t, rs)
		term := now.c.Term()
		for quiet := time.Now().Add(700 * time.Millisecond); now.c.IsLeader() &&
			now.c.Term() == term; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(quiet) {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatal("one leader deposes the other")
		}
	}
}
