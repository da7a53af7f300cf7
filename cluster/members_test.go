package cluster

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/cluster/identity"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
)

// ledTrio starts three replicas, waits until they have applied the same entries, and returns the
// leader and the two followers.
func ledTrio(t *testing.T) (l, f, g *replica) {
	t.Helper()
	rs := trio(t, nil)
	inStep(t, rs, put(t, rs, 2))
	l = leader(t, rs)
	others := without(rs, l)
	return l, others[0], others[1]
}

// TestAbsent checks that the replicas that died are named at once, as Members shows them.
func TestAbsent(t *testing.T) {
	t.Parallel()
	l, f, g := ledTrio(t)
	f.kill()
	g.kill()
	dead := []string{min(f.id, g.id), max(f.id, g.id)}
	if voters, absent := l.c.Absent(); voters != 3 || !slices.Equal(absent, dead) {
		t.Errorf("%d voters, absent %v, want %v", voters, absent, dead)
	}
}

// TestMembersShowWhatIsCommitted checks that Members shows an uncommitted change as pending. An
// operator who reads that a replica is a voter, or is gone, may shut down another replica because
// of that.
func TestMembersShowWhatIsCommitted(t *testing.T) {
	t.Parallel()
	l, f, g := ledTrio(t)
	if err := l.c.Demote(g.id); err != nil {
		t.Fatal(err)
	}
	see := func(what string, want Member, listed bool) {
		t.Helper()
		var got Member
		var found bool
		eventually(t, patience, what, func() bool {
			found = false
			for _, m := range l.c.Members() {
				if m.ID == g.id {
					got, found = m, true
				}
			}
			return found == listed && got.Voter == want.Voter && got.Pending == want.Pending
		})
	}
	see("who was demoted has no vote", Member{}, true)
	conf := l.c.core.Configuration()
	s, _ := servers.Find(conf, g.id)
	f.kill()
	g.kill()

	promoted := l.c.core.Current().Raft.AddVoter(s.ID, s.Address, 0, patience)
	eventually(t, patience, "the leader has the promotion in its log",
		func() bool { return len(servers.Voters(l.c.core.Configuration())) == 3 })
	for _, m := range l.c.Members() {
		if m.ID == g.id && (m.Voter || !m.Pending) {
			t.Errorf("%s is shown as %+v while its promotion is not committed", g.id, m)
		}
	}
	wantUnsettled(t, l, "demote", g.id)
	f.start()
	if err := promoted.Error(); err != nil {
		t.Fatal(err)
	}
	see("who was promoted votes", Member{Voter: true}, true)

	f.kill()
	removed := l.c.core.Current().Raft.RemoveServer(s.ID, 0, patience)
	eventually(t, patience, "the leader has the removal in its log", func() bool { return !l.c.HasMember(g.id) })
	see("who is being removed is still listed", Member{Pending: true}, true)
	wantUnsettled(t, l, "remove", g.id)
	f.start()
	if err := removed.Error(); err != nil {
		t.Fatal(err)
	}
	see("who was removed is not listed", Member{}, false)
}

// wantUnsettled checks that a change is refused while another one is not committed.
func wantUnsettled(t *testing.T, l *replica, op, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wantRefusal(t, l.c.adminHere(ctx, adminRequest{Op: op, ID: id}), refusal.Timeout)
}

// TestRemovalSparesRejoinedID checks that a removal which waits for an earlier change does not
// remove a replica that joined with the same id in the meantime.
func TestRemovalSparesRejoinedID(t *testing.T) {
	t.Parallel()
	l, f, g := ledTrio(t)
	old, _ := servers.Find(l.c.core.Configuration(), g.id)
	next := identity.Identity{ID: g.id, Incarnation: "next"}.ServerID()
	f.kill()
	g.kill()

	raft := l.c.core.Current().Raft
	removed := raft.RemoveServer(old.ID, 0, patience)
	eventually(t, patience, "the leader has the removal in its log", func() bool { return !l.c.HasMember(g.id) })
	asked, joined := make(chan error, 1), make(chan error, 1)
	go func() { asked <- l.c.adminHere(t.Context(), adminRequest{Op: "remove", ID: g.id}) }()
	go func() { joined <- raft.AddNonvoter(next, old.Address, 0, patience).Error() }()
	time.Sleep(commitPoll) // both wait for the first removal, which needs f to be committed
	l.fsm.confs.Lock()     // hides the state between the removal and the join
	f.start()
	eventually(t, patience, "the other one is let in", func() bool { return l.c.HasMember(g.id) })
	l.fsm.confs.Unlock()
	if err := removed.Error(); err != nil {
		t.Fatal(err)
	}
	if err := <-joined; err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, <-asked, refusal.NoSuchReplica)
	if _, ok := servers.Find(l.c.core.Configuration(), string(next)); !ok {
		t.Errorf("%s went by a removal that was asked for before it came", next)
	}
}

// TestMembersShowWhoIsEmpty checks that a member which runs without data is not shown as one that does not
// answer, and that nobody is told to give up its disk unless a leader has the data.
func TestMembersShowWhoIsEmpty(t *testing.T) {
	t.Parallel()
	l, f, g := ledTrio(t)
	g.stop()
	g.dir = filepath.Join(t.TempDir(), "empty")
	g.start()
	see := func(led bool) {
		t.Helper()
		var got Member
		eventually(t, patience, "who is empty", func() bool {
			for _, m := range l.c.Members() {
				if m.ID == g.id {
					got = m
				}
			}
			return got.State == StateEmpty && strings.Contains(got.Problem, "cluster remove "+g.id) == led
		})
		if !strings.HasPrefix(got.Problem, "it runs without data: mount its disk") {
			t.Errorf("%s is shown as %+v", g.id, got)
		}
	}
	see(true)
	f.kill()
	see(false)
}
