package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/cluster/leading"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
	"rmd/cluster/timers"
	"rmd/internal/exitcode"
)

func TestInitJoinPromotePropose(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	index := put(t, rs, 20)
	inStep(t, rs, index)
	l := leader(t, rs)
	for _, r := range rs {
		var ms []Member
		eventually(t, patience, r.id+" is answered by all", func() bool { // a busy replica may miss the timeout of one call
			ms = r.c.Members()
			return len(ms) == 3 && ms[0].State == StateAlive && ms[1].State == StateAlive && ms[2].State == StateAlive
		})
		for _, m := range ms {
			if !m.Voter || m.Leader != (m.ID == l.id) || m.Incarnation == "" {
				t.Errorf("%s sees %+v", r.id, m)
			}
		}
		if r.c.ClusterID() == "" || r.c.ClusterID() != l.c.ClusterID() {
			t.Errorf("%s has cluster id %q", r.id, r.c.ClusterID())
		}
		got, err := r.c.ReadIndex(t.Context())
		if err != nil || got < index {
			t.Errorf("%s: read index %d %v, want at least %d", r.id, got, err, index)
		}
		if err := r.c.WaitApplied(t.Context(), got); err != nil {
			t.Error(err)
		}
	}
	if err := l.c.Barrier(patience); err != nil {
		t.Error(err)
	}
	if err := l.c.Confirm(t.Context(), l.c.Term()); err != nil {
		t.Errorf("the leader is not sure of itself: %v", err)
	}
	if err := l.c.Confirm(t.Context(), l.c.Term()-1); !errors.Is(err, ErrNotLeader) {
		t.Errorf("a term that is over is confirmed: %v", err)
	}
	if err := l.c.VerifyLeader(); err != nil {
		t.Error(err)
	}
	for _, r := range rs {
		if r == l {
			continue
		}
		if _, _, err := r.c.Propose([]byte("x")).Wait(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("propose on a follower: %v", err)
		}
		if err := r.c.VerifyLeader(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("verify on a follower: %v", err)
		}
	}
}

func TestFSMErrorIsReturned(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	leadAlone(t, r)
	boom := errors.New("boom")
	r.fsm.mu.Lock()
	r.fsm.fail = boom
	r.fsm.mu.Unlock()
	if _, _, err := r.c.Propose([]byte("x")).Wait(); !errors.Is(err, boom) {
		t.Fatalf("Propose with a failing FSM: %v, want %v", err, boom)
	}
	if _, _, err := r.c.Propose(make([]byte, 2<<20)).Wait(); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("Propose of 2 MiB: %v, want %v", err, ErrTooLarge)
	}
}

// TestEntriesBounded checks that Entries stops after entriesBytes, and that the caller can continue
// after the last returned entry.
func TestEntriesBounded(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	leadAlone(t, r)
	const large = 12
	for range large {
		if _, _, err := r.c.Propose(make([]byte, 1<<20)).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	entries, first, last, err := r.c.Entries(0, 1000)
	if err != nil || len(entries) == 0 {
		t.Fatalf("Entries(0, 1000): %d entries, %v, want some and no error", len(entries), err)
	}
	size, next := 0, first
	for _, e := range entries {
		if e.Index != next {
			t.Fatalf("entry %d comes after %d", e.Index, next-1)
		}
		size, next = size+len(e.Data), e.Index+1
	}
	if next > last || size < entriesBytes || size > entriesBytes+1<<20 {
		t.Errorf("%d bytes at once, up to %d of %d", size, next-1, last)
	}
	rest, _, _, err := r.c.Entries(next, 1000)
	if err != nil || len(rest) == 0 || rest[0].Index != next || rest[len(rest)-1].Index != last {
		t.Errorf("%d entries come after %d, not those up to %d: %v", len(rest), next-1, last, err)
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	var to, via *replica
	for _, r := range rs {
		if r != l {
			to, via = r, to
		}
	}
	if err := via.c.Transfer(to.id); err != nil { // a follower forwards it
		t.Fatal(err)
	}
	eventually(t, patience, "target leads", to.c.IsLeader)
	if err := to.c.Transfer(""); err != nil {
		t.Fatal(err)
	}
	if now := leader(t, rs); now == to {
		t.Fatal("leadership stayed")
	}
	inStep(t, rs, put(t, rs, 5))
}

func TestRemovedLeaderStops(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	if err := l.c.Remove(l.id, false); err != nil {
		t.Fatal(err)
	}
	select {
	case f := <-l.fatal:
		if f.Code != exitcode.Removed || !errors.Is(f.Err, ErrRemoved) {
			t.Fatalf("the removed leader ends with exit code %d, %v; want %d, %v", f.Code, f.Err, exitcode.Removed, ErrRemoved)
		}
	case <-time.After(patience):
		t.Fatal("the removed leader goes on")
	}
	l.stop()
	var fe *exitcode.Error
	if err := l.open(); !errors.As(err, &fe) || fe.Code != exitcode.Removed {
		t.Fatalf("a removed replica starts again: %v", err)
	}
	var left []*replica
	for _, r := range rs {
		if r != l {
			left = append(left, r)
		}
	}
	inStep(t, left, put(t, left, 5))
	if n := len(leader(t, left).c.Members()); n != 2 {
		t.Fatalf("%d members", n)
	}
}

func TestBootstrapExpect(t *testing.T) {
	t.Parallel()
	var rs []*replica
	for i := range 3 {
		rs = append(rs, newReplica(t, []string{"rm2", "rm1", "rm3"}[i], nil))
	}
	expect := func(c *Config) {
		c.BootstrapExpect = 3
		c.Join = []string{rs[0].addr, rs[1].addr, rs[2].addr}
	}
	for _, r := range rs {
		r.tweak = func(c *Config) {
			expect(c)
			c.Heartbeat, c.Election = time.Hour, time.Hour // nobody waits for the timers
		}
	}
	rs[0].start()
	rs[1].start()
	time.Sleep(2 * expectPause)
	if rs[0].c.core.HasState() || rs[1].c.core.HasState() {
		t.Fatal("two of three initialized")
	}
	rs[2].start()
	eventually(t, patience, "the lowest id initializes and leads", rs[1].c.IsLeader)
	inStep(t, rs, put(t, rs, 5))
	if n := len(servers.Voters(rs[0].c.core.Configuration())); n != 3 {
		t.Fatalf("%d voters", n)
	}
	for _, r := range rs {
		r.stop()
	}
	for _, r := range rs {
		r.tweak = expect // replicas with state ignore it
		r.start()
	}
	inStep(t, rs, put(t, rs, 5))
}

func TestRestartAll(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 10)
	id := rs[1].c.Identity()
	for _, r := range rs {
		r.stop()
	}
	for _, r := range rs {
		r.start()
	}
	elect(t, rs[0])
	inStep(t, rs, put(t, rs, 5))
	if got := rs[1].c.Identity(); got.Incarnation != id.Incarnation || got.ClusterID != id.ClusterID {
		t.Fatalf("identity changed from %+v to %+v", id, got)
	}
	if _, n, _ := rs[2].fsm.state(); n != 15 {
		t.Fatalf("%d entries applied", n)
	}
}

// TestAddressChange checks that the leader learns the new address of a restarted replica, and none at which
// it does not reach that.
func TestAddressChange(t *testing.T) {
	t.Parallel()
	// a replica announces its new address at an interval that depends on them
	rs := trio(t, func(c *Config) { c.Heartbeat, c.Election, c.Lease = calm/4, calm/4, calm/4 })
	put(t, rs, 5)
	l := leader(t, rs)
	var f *replica
	for _, r := range rs {
		if r != l {
			f = r
		}
	}
	f.stop()
	f.addr = "127.0.0.1:0"
	f.start()
	inStep(t, rs, put(t, rs, 5))
	eventually(t, patience, "new address", func() bool {
		s, _ := servers.Find(l.c.core.Configuration(), f.id)
		return string(s.Address) == f.addr
	})
	_, err := protocol.Ask[protocol.None](t.Context(), f.srv, l.addr, protocol.Move,
		moveRequest{ServerID: string(f.c.Identity().ServerID()), Address: "127.0.0.1:1"})
	wantRefusal(t, err, refusal.PeerUnreachable)
}

// TestSnapshotCatchUp checks that a follower catches up by a snapshot if the log was truncated
// while it was down.
func TestSnapshotCatchUp(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) {
		c.Trailing, c.SnapshotThreshold, c.SnapshotInterval, c.Options.LowTrailing = 5, 20, 20*time.Millisecond, true
	})
	put(t, rs, 5)
	l := leader(t, rs)
	var away *replica
	for _, r := range rs {
		if r != l {
			away = r
		}
	}
	away.stop()
	put(t, []*replica{l}, 100)
	for _, r := range rs { // either of them may be the leader when the follower returns
		if r != away {
			eventually(t, patience, r.id+"'s log is cut", func() bool {
				first, _ := r.c.core.Stores.Logs.FirstIndex()
				return first > 50
			})
		}
	}
	away.start()
	inStep(t, rs, put(t, rs, 5))
	eventually(t, patience, "it caught up by a snapshot", func() bool { return away.c.Stats().Installs > 0 })
	away.stop()
	away.start()
	inStep(t, rs, put(t, rs, 5))
}

func TestUserSnapshotRestore(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 10)
	l := leader(t, rs)
	if err := l.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	list, err := l.c.SnapshotList()
	if err != nil || len(list) != 1 {
		t.Fatalf("SnapshotList after one snapshot = %+v, %v, want one", list, err)
	}
	want, count, _ := l.fsm.state()
	put(t, rs, 10)
	info, r, err := l.c.OpenSnapshot(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	wantRefusal(t, l.c.RestoreSnapshot(info, strings.NewReader("garbage")), refusal.SnapshotDamaged)
	if _, n, _ := l.fsm.state(); n != count+10 {
		t.Fatal("a damaged snapshot changed the state")
	}
	if err := l.c.RestoreSnapshot(info, r); err != nil {
		t.Fatal(err)
	}
	if got, n, _ := l.fsm.state(); got != want || n != count {
		t.Fatalf("state has %d entries, not %d", n, count)
	}
	inStep(t, rs, put(t, rs, 3))
}

// TestElectionTiming checks in virtual time that a leader that vanishes, without a proof of its death,
// is replaced in the time that DESIGN.md says. Two votes may split, so the median counts.
func TestElectionTiming(t *testing.T) {
	var all []time.Duration
	for seed := range int64(9) {
		synctest.Test(t, func(t *testing.T) {
			s := newSimCluster(t, seed, fastTimers)
			s.boot()
			l := s.leader(nil)
			s.put(l, 5)
			s.net.isolate(s.addr(l), true, true)
			start := time.Now()
			next := s.leader(l)
			all = append(all, time.Since(start))
			s.net.heal()
			index := s.put(next, 5)
			time.Sleep(time.Minute)
			for _, r := range s.rs {
				if at := r.c.AppliedIndex(); at < index {
					t.Errorf("seed %d: %s is at %d, not at %d", seed, r.id, at, index)
				}
			}
			s.stopAll()
		})
	}
	slices.Sort(all)
	if median := all[len(all)/2]; median < timers.Lowest().Election || median > 33*timers.Lowest().Election/10 {
		t.Errorf("new leaders after %v", all)
	}
}

// TestLeadershipChannel checks that the channel receives the newest leadership, that terms do not
// decrease, and that Close closes the channel.
func TestLeadershipChannel(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 2)
	l := leader(t, rs)
	ch := l.c.Leadership()
	if now := <-ch; !now.IsLeader || now.Term != l.c.Term() || now.LeaderID != l.id {
		t.Fatalf("Leadership() sends %+v, want %s as leader in term %d", now, l.id, l.c.Term())
	}
	eventually(t, patience, "health known", func() bool {
		h := l.c.Health()
		return h.Known && h.Healthy && h.FailureTolerance == 1
	})
	if err := l.c.Demote(l.id); err != nil { // the leader transfers leadership first
		t.Fatal(err)
	}
	next := leader(t, rs)
	if next == l {
		t.Fatal("a demoted leader leads")
	}
	var last leading.Leadership
	eventually(t, patience, "the new leader is told", func() bool {
		select {
		case now := <-ch:
			if now.Term < last.Term {
				t.Fatalf("term %d after %d", now.Term, last.Term)
			}
			last = now
		default:
		}
		return last.LeaderID == next.id && !last.IsLeader && last.Address == next.addr
	})
	if h := l.c.Health(); h.Known {
		t.Errorf("a follower judges: %+v", h)
	}
	l.stop()
	for range ch { // receive what is left until the channel is closed
	}
}

// TestVerifyNeedsMajority checks that a leader without followers cannot confirm its leadership, and
// so serves no reads, although it may still believe that it leads.
func TestVerifyNeedsMajority(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) { c.Heartbeat, c.Election, c.Lease = 4*time.Second, 4*time.Second, 4*time.Second })
	put(t, rs, 2)
	l := leader(t, rs)
	for _, r := range rs {
		if r != l {
			r.kill()
		}
	}
	if !l.c.IsLeader() {
		t.Skip("leadership ended too soon on this machine")
	}
	if err := l.c.Confirm(t.Context(), l.c.Term()); err == nil {
		t.Error("a leader whom nobody hears confirms itself")
	}
	if err := l.c.VerifyLeader(); !errors.Is(err, ErrNotLeader) {
		t.Errorf("VerifyLeader without a majority: %v, want %v", err, ErrNotLeader)
	}
	if _, err := l.c.ReadIndex(t.Context()); err == nil {
		t.Error("a read index without a majority")
	}
}
