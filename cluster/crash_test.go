package cluster

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Raft's own detection needs a calm timeout in these tests: whoever leads sooner was elected by crash detection.
const soonerThanTimers = calm * 2 / 3

// roundsMax is how often a crash is tried until three were found by it.
const roundsMax = 10

// TestCrashDetection: the end of the leader's process makes a new leader long before any timer. (Not always on
// a busy machine: who cannot dial within a quarter of a second has no proof, and the timers decide. Without crash
// detection it is never sooner.)
func TestCrashDetection(t *testing.T) {
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
		_ = l.srv.Close() // what the kernel does with a killed process
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

// TestLostConnectionDeposesNobody: all connections of the leader are cut, its port stays open.
func TestLostConnectionDeposesNobody(t *testing.T) {
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

// staysLeader looks on for a while.
func staysLeader(t *testing.T, l *replica, term uint64, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !l.c.IsLeader() || l.c.Term() != term {
			t.Fatalf("leader %s of term %d was deposed: term %d", l.id, term, l.c.Term())
		}
	}
}

// promptPeer is a wire on which every note has just arrived, or none ever does. Crash detection listens to
// the others for milliseconds only, which a busy machine may need for one note.
type promptPeer struct {
	Peer
	deaf bool
}

// Note is the newest note, as if told now.
func (p promptPeer) Note(id string) ([]byte, time.Time) {
	if p.deaf {
		return nil, time.Time{}
	}
	b, _ := p.Peer.Note(id)
	return b, time.Now()
}

// TestDoubtHoldsBack: a replica with a false proof (a firewall that refuses) does not depose a leader
// that another voter says it still hears. One that hears nobody's word goes by its proof.
func TestDoubtHoldsBack(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		rs := trio(t, func(c *Config) { c.Peer = promptPeer{c.Peer, deaf} })
		put(t, rs, 5)
		l := leader(t, rs)
		f := follower(rs, l)
		term := l.c.Term()
		if deaf {
			f.c.gone(l.id)
			eventually(t, soonerThanTimers, "it stands", func() bool { return f.c.Term() > term })
			continue
		}
		acquainted(t, rs)
		f.c.gone(l.id)
		staysLeader(t, l, term, 500*time.Millisecond)
	}
}

// TestFalseProofIsForgotten: a leader that tells that it leads is believed again after a false proof, which may
// be of an earlier process of it. Who goes on to say that it is gone hears no leader, for as long as the term lasts.
func TestFalseProofIsForgotten(t *testing.T) {
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	term := l.c.Term()
	acquainted(t, rs)
	f := follower(rs, l)
	f.c.gone(l.id)
	eventually(t, patience, f.id+" hears "+l.id+" again", func() bool {
		p, ok := decodePosition(f.c.note())
		return ok && p.Hears && p.Gone == 0
	})
	if now := f.c.Term(); now != term {
		t.Errorf("term %d, it was %d", now, term)
	}
	put(t, rs, 5)
}

// calmPeer is a wire on which nobody says that he hears a leader: every proof counts.
type calmPeer struct{ Peer }

// Note is the newest note without that word.
func (p calmPeer) Note(id string) ([]byte, time.Time) {
	b, _ := p.Peer.Note(id)
	if have, ok := decodePosition(b); ok {
		have.Hears = false
		b = have.encode()
	}
	return b, time.Now()
}

// TestShorterLogUrges: the only one with proof cannot win. It brings down the leader with its first try, and has
// the one with the longer log stand then, instead of ending that one's elections until all timers are over.
func TestShorterLogUrges(t *testing.T) {
	rs := trio(t, func(c *Config) { c.Peer = calmPeer{c.Peer} })
	inStep(t, rs, put(t, rs, 5))
	l := leader(t, rs)
	behind := follower(rs, l)
	other := follower(without(rs, behind), l)
	behind.c.wire.RefuseEntries(true)
	inStep(t, []*replica{l, other}, put(t, []*replica{l}, 5))
	eventually(t, patience, "the longer log is known", func() bool {
		last, term := behind.c.stores.Logs.Tail()
		p := behind.c.positionOf(other.c.Identity().ServerID())
		return p.LastTerm == term && p.LastIndex > last
	})
	behind.c.gone(l.id)
	eventually(t, soonerThanTimers, "the one with the longer log leads", other.c.IsLeader)
}

// latePeer is a wire on which no note arrives after a leader's end: what is known is of before, when logs were shorter.
type latePeer struct{ Peer }

// Note is a note of a second ago.
func (p latePeer) Note(string) ([]byte, time.Time) {
	return position{Term: 1, LastTerm: 1, LastIndex: 1}.encode(), time.Now().Add(-time.Second)
}

// TestStaleNotesRankAlike: two survivors who have not heard each other since agree who stands first. If each went by
// what it knew of the other's log, both would, and neither would win.
func TestStaleNotesRankAlike(t *testing.T) {
	rs := trio(t, func(c *Config) { c.Peer = latePeer{c.Peer} })
	inStep(t, rs, put(t, rs, 5))
	l := leader(t, rs)
	a := follower(rs, l)
	b := follower(without(rs, a), l)
	term := l.c.Term()
	if x, y := a.c.order(l.id, term), b.c.order(l.id, term); !slices.Equal(x, y) || len(x) != 2 {
		t.Errorf("%s would go by %v, %s by %v", a.id, x, b.id, y)
	}
}

// TestUnheardMajorityIsWaitedFor: with three voters nobody wins without the other survivor, whose log may be the
// longer one. Its word is waited for longer than the word of one that a majority can do without.
func TestUnheardMajorityIsWaitedFor(t *testing.T) {
	rs := trio(t, func(c *Config) { c.Peer = latePeer{c.Peer} })
	put(t, rs, 5)
	l := leader(t, rs)
	start := time.Now()
	follower(rs, l).c.hearOthers(l.id, l.c.Term(), start)
	if took := time.Since(start); took < crashSettle {
		t.Errorf("it goes on after %s", took)
	}
}

// TestStandFromCandidate: a candidate that lost stands again at once instead of sitting out its timer.
func TestStandFromCandidate(t *testing.T) {
	rs := trio(t, nil)
	for _, r := range rs {
		r.stop()
	}
	a := rs[0].start() // alone: it can only be a candidate
	a.c.stand()
	eventually(t, soonerThanTimers, "candidate", func() bool { return a.c.current().raft.State().String() == "Candidate" })
	term := a.c.Term()
	a.c.stand()
	eventually(t, soonerThanTimers, "a higher term", func() bool { return a.c.Term() >= term+2 })
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
// search for a successor ends with it. (A search lasts three timeouts when nothing ends it.)
func TestRestartedLeaderIsNotDeposed(t *testing.T) {
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
		for quiet := time.Now().Add(700 * time.Millisecond); now.c.IsLeader() && now.c.Term() == term; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(quiet) {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatal("one leader deposes the other")
		}
	}
}

// TestWhoIsAskedDoesNotStand: between a request for its vote and the synced answer a replica's term is the old one;
// to stand then would depose the one that is about to win. The request of one that died counts for a moment only.
func TestWhoIsAskedDoesNotStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s crashState
		if s.voting(3) {
			t.Error("nobody has asked")
		}
		s.ask(4)
		s.ask(2) // late
		if !s.voting(3) || s.voting(4) {
			t.Error("asked for a vote in term 4")
		}
		time.Sleep(crashStagger)
		if s.voting(3) {
			t.Error("nobody came of it")
		}
	})
}
