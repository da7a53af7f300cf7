package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rmd/cluster/identity"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
	"rmd/internal/exitcode"
)

// TestRepeatedJoinRole checks that a replica which repeats its join gets the role of its token. If
// the token cannot be checked at the moment, the join fails; the replica must not get a lesser
// role.
func TestRepeatedJoinRole(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	lead := newReplica(t, "rm1", func(c *Config) {
		c.CheckToken = func(string, string, bool) (string, error) {
			if fails.Load() {
				return "", errors.New("leadership lost")
			}
			return identity.RoleVoter, nil
		}
	}).start()
	leadAlone(t, lead)
	rm2 := newReplica(t, "rm2", nil).start()
	join := func() (joinReply, error) {
		return protocol.Ask[joinReply](t.Context(), rm2.srv, lead.addr, protocol.Join,
			joinRequest{Identity: rm2.c.Identity(), Address: rm2.addr})
	}
	if _, err := join(); err != nil {
		t.Fatal(err)
	}
	fails.Store(true)
	_, err := join()
	wantRefusal(t, err, refusal.NoLeader)
	fails.Store(false)
	if r, err := join(); err != nil || r.Role != identity.RoleVoter {
		t.Fatalf("repeated join: role %q, %v, want %q and no error", r.Role, err, identity.RoleVoter)
	}
}

func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	tokens := map[string]error{
		"bad":  refusal.New(refusal.TokenInvalid, "make another", "no such token"),
		"late": errors.New("leadership lost"),
		"used": refusal.New(refusal.TokenUsed, "make another", "the token was used"),
		"old":  refusal.New(refusal.TokenExpired, "make another", "the token has expired"),
	}
	lead := newReplica(t, "rm1", func(c *Config) {
		c.FeatureLevel = func() uint64 { return 3 }
		c.Level = 3
		c.CheckToken = func(tok, by string, dry bool) (string, error) {
			if !strings.HasPrefix(by, "rm") || dry && tok == "bad" {
				return identity.RoleNonvoter, nil // a dry run only checks
			}
			return identity.RoleNonvoter, tokens[tok]
		}
	}).start()
	leadAlone(t, lead)
	join := func(r *replica, token string) error { return r.c.Join(t.Context(), []string{lead.addr}, token, false) }
	level := func(n uint64) func(*Config) { return func(c *Config) { c.Level = n } }

	wantRefusal(t, join(newReplica(t, "rm2", level(2)).start(), ""), refusal.VersionTooOld)
	rm2 := newReplica(t, "rm2", level(3)).start()
	for token, code := range map[string]refusal.Code{"bad": refusal.TokenInvalid, "late": refusal.NoLeader,
		"used": refusal.TokenUsed, "old": refusal.TokenExpired} {
		wantRefusal(t, join(rm2, token), code)
	}
	if err := rm2.c.Join(t.Context(), []string{lead.addr}, "bad", true); err != nil {
		t.Fatalf("a dry run used the token: %v", err)
	}
	if n := len(lead.c.Members()); n != 1 {
		t.Fatalf("%d members after refusals", n)
	}
	if err := join(rm2, "good"); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "rm2 has state", rm2.c.core.HasState)
	stranger := newReplica(t, "rm7", level(3)).start() // a replica that has only a certificate
	_, err := protocol.Ask[protocol.None](t.Context(), stranger.srv, lead.addr, protocol.Admin,
		adminRequest{Op: "remove", ID: "rm2"})
	wantRefusal(t, err, refusal.NoSuchReplica)
	// as if the first answer was lost
	again := joinRequest{Identity: rm2.c.Identity(), Address: rm2.addr, Token: "used", Level: 3}
	if r, err := protocol.Ask[joinReply](t.Context(), rm2.srv, lead.addr, protocol.Join, again); err != nil ||
		r.Role != identity.RoleNonvoter {
		t.Fatalf("repeated join with a used token: role %q, %v, want %q and no error", r.Role, err, identity.RoleNonvoter)
	}
	wantRefusal(t, join(rm2, "good"), refusal.AlreadyInitialized)
	wantRefusal(t, rm2.c.Init(false), refusal.AlreadyInitialized)
	wantRefusal(t, join(newReplica(t, "rm2", level(3)).start(), "good"), refusal.IDInUse)
	wantRefusal(t, join(newReplica(t, "RM2", level(3)).start(), "good"), refusal.IDInUse)
	wantRefusal(t, join(newReplica(t, "rm3", func(c *Config) { c.Level, c.Advertise = 3, rm2.addr }).start(), "good"),
		refusal.AddressInUse)
	for advertise, answers := range map[string]string{"127.0.0.1:1": "refused", stranger.addr: "replica rm7 answered"} {
		lost := newReplica(t, "rm5", func(c *Config) { c.Level, c.Advertise = 3, advertise }).start()
		err := join(lost, "good")
		wantRefusal(t, err, refusal.PeerUnreachable)
		if !strings.Contains(err.Error(), "rm1 dialed rm5 at "+advertise+": ") || !strings.Contains(err.Error(), answers) {
			t.Errorf("the leader reaches another at %s: %v", advertise, err)
		}
		if lead.c.HasMember("rm5") {
			t.Errorf("rm5 is a member at %s", advertise)
		}
		lost.stop()
	}

	other := newReplica(t, "rm4", level(3)).start()
	if err := other.c.core.Dir.Update(func(i *identity.Identity) { i.ClusterID = "another" }); err != nil {
		t.Fatal(err)
	}
	other.c.core.Identify()
	wantRefusal(t, join(other, "good"), refusal.ClusterIDDiffers)

	// Autopilot does not promote a replica with the role of a non-voter. An operator can.
	time.Sleep(400 * time.Millisecond)
	if len(servers.Voters(lead.c.core.Configuration())) != 1 {
		t.Fatal("a replica let in as non-voter was promoted")
	}
	if err := rm2.c.Promote("rm2", 0); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, newReplica(t, "rm9", nil).start().c.Join(t.Context(), []string{"127.0.0.1:1"}, "", false),
		refusal.PeerUnreachable)
}

// TestJoinRetryAfterLostReply checks that a replica whose first answer was lost gets the role of
// its token when it repeats the join. Otherwise it would never be promoted.
func TestJoinRetryAfterLostReply(t *testing.T) {
	t.Parallel()
	lead := newReplica(t, "rm1", func(c *Config) {
		c.CheckToken = func(string, string, bool) (string, error) { return identity.RoleVoter, nil }
	}).start()
	leadAlone(t, lead)
	rm2 := newReplica(t, "rm2", nil).start()
	q := joinRequest{Identity: rm2.c.Identity(), Address: rm2.addr, Token: "good"}
	if r, err := protocol.Ask[joinReply](t.Context(), rm2.srv, lead.addr, protocol.Join, q); err != nil ||
		r.Role != identity.RoleVoter {
		t.Fatalf("the answer that is lost: %+v %v", r, err)
	}
	if err := rm2.c.Join(t.Context(), []string{lead.addr}, "good", false); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "rm2 votes", func() bool { return len(servers.Voters(lead.c.core.Configuration())) == 2 })
}

// TestJoinIsCommitted checks that a leader which cannot commit a join does not confirm it, also
// when the join is repeated.
func TestJoinIsCommitted(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	inStep(t, rs, put(t, rs, 2))
	l := leader(t, rs)
	rm4 := newReplica(t, "rm4", nil).start()
	others := without(rs, l)
	for _, r := range others {
		r.kill()
	}
	tries := 0
	eventually(t, patience, "the leader has the change in its log", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := rm4.c.Join(ctx, []string{l.addr}, "", false); err == nil {
			t.Error("the replica was told that it is let in, which only the leader knows")
		}
		tries++
		return tries > 1 && l.c.HasMember("rm4")
	})
	for _, r := range others {
		r.start()
	}
	eventually(t, patience, "rm4 is let in", func() bool {
		return rm4.c.ClusterID() != "" || rm4.c.Join(t.Context(), []string{l.addr}, "", false) == nil
	})
}

func TestInitRefusedByPeerState(t *testing.T) {
	one := newReplica(t, "rm1", nil).start()
	if err := one.c.Init(true); err != nil {
		t.Fatal(err)
	}
	if one.c.core.HasState() {
		t.Fatal("a dry run initialized")
	}
	if err := one.c.Init(false); err != nil {
		t.Fatal(err)
	}
	two := newReplica(t, "rm2", func(c *Config) { c.Join = []string{one.addr} }).start()
	wantRefusal(t, two.c.Init(false), refusal.AlreadyInitialized)
}

func TestChangeRefusals(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	put(t, rs, 5)
	l := leader(t, rs)
	var f, g *replica
	for _, r := range rs {
		if r != l {
			f, g = r, f
		}
	}
	for _, err := range []error{f.c.Promote("rm9", 0), f.c.Demote("rm9"), f.c.Remove("rm9", false),
		f.c.Remove(f.id+".before", true), f.c.Transfer("rm9")} {
		wantRefusal(t, err, refusal.NoSuchReplica)
	}
	whole := string(g.c.Identity().ServerID()) // ID.INCARNATION names only this incarnation
	if err := errors.Join(f.c.CheckDemote(g.id), l.c.CheckDemote(l.id)); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, f.c.Promote(g.id, 0), refusal.AlreadyVoter)
	wantRefusal(t, l.c.CheckPromote(l.id, 0), refusal.AlreadyVoter)
	if err := l.c.Demote(g.id); err != nil {
		t.Fatal(err)
	}
	time.Sleep(400 * time.Millisecond) // time in which autopilot must not promote it again
	if err := f.c.CheckPromote(g.id, 0); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, l.c.Demote(g.id), refusal.NotAVoter)
	wantRefusal(t, l.c.CheckDemote(g.id), refusal.NotAVoter)
	wantRefusal(t, f.c.Transfer(g.id), refusal.NotAVoter)
	g.stop()
	wantRefusal(t, l.c.Promote(g.id, 0), refusal.NotHealthy)
	wantRefusal(t, l.c.CheckPromote(g.id, 0), refusal.NotHealthy)
	g.start()
	eventually(t, patience, "promotion by hand", func() bool {
		err := f.c.Promote(g.id, 0)
		var r *refusal.Refusal
		return err == nil || errors.As(err, &r) && r.Code == refusal.AlreadyVoter // the answer to an earlier try was lost
	})
	inStep(t, rs, put(t, rs, 2))

	g.stop()
	wantRefusal(t, l.c.Transfer(g.id), refusal.NotHealthy)
	r := wantRefusal(t, l.c.Remove(f.id, false), refusal.WouldLoseQuorum)
	if want := fmt.Sprintf("%s does not answer; removing %s would leave 1 healthy of 2 voters", g.id,
		f.id); r.What != want || !strings.Contains(r.Do, "--force") {
		t.Errorf("refused removal: %q; remedy %q; want %q and a remedy with --force", r.What, r.Do, want)
	}
	wantRefusal(t, l.c.Demote(f.id), refusal.WouldLoseQuorum)
	if err := l.c.CheckRemove(g.id, false); err != nil {
		t.Errorf("removing the dead one: %v", err)
	}
	if err := l.c.Remove(whole, false); err != nil {
		t.Fatal(err)
	}
	if err := l.c.Remove(f.id, true); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, l.c.Remove(l.id, true), refusal.WouldLeaveNoVoter)
	wantRefusal(t, l.c.Demote(l.id), refusal.WouldLeaveNoVoter)
	wantRefusal(t, l.c.Transfer(""), refusal.NotHealthy)

	// The removed replica returns with its old disk. It learns that it was removed, and stops.
	g.tweak = fastTimers // the interval of its questions depends on them
	if err := g.open(); err != nil {
		t.Fatal(err)
	}
	select {
	case fe := <-g.fatal:
		if fe.Code != exitcode.Removed {
			t.Fatalf("the removed replica ends with exit code %d, %v; want code %d", fe.Code, fe.Err, exitcode.Removed)
		}
	case <-time.After(patience):
		t.Fatal("a removed replica with its old disk goes on")
	}
}

// TestRemovedReplicaWithoutNotice removes a replica that does not get the notice. The replica has
// the entry that removes it, but does not learn that the entry is committed.
func TestRemovedReplicaWithoutNotice(t *testing.T) {
	t.Parallel()
	// the interval of the replica's questions depends on them
	rs := trio(t, func(c *Config) { c.Heartbeat, c.Election, c.Lease = calm/4, calm/4, calm/4 })
	l := leader(t, rs)
	f := rs[0]
	if f == l {
		f = rs[1]
	}
	f.c.core.Peer.Handle(protocol.Removed, func(context.Context, string, []byte) ([]byte, error) {
		return nil, errors.New("the notice is lost")
	})
	if err := l.c.Remove(f.id, false); err != nil {
		t.Fatal(err)
	}
	select {
	case fe := <-f.fatal:
		if fe.Code != exitcode.Removed {
			t.Fatalf("the removed replica ends with exit code %d, %v; want code %d", fe.Code, fe.Err, exitcode.Removed)
		}
	case <-time.After(patience):
		t.Fatal("a removed replica that was not told goes on")
	}
}

func TestNotCaughtUp(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	l := leader(t, rs)
	var f *replica
	for _, r := range rs {
		if r != l {
			f = r
		}
	}
	if err := l.c.Demote(f.id); err != nil {
		t.Fatal(err)
	}
	f.c.core.Transport.RefuseEntries(true) // the replica hears the leader but refuses entries
	put(t, []*replica{l}, 120)
	r := wantRefusal(t, l.c.Promote(f.id, 0), refusal.NotCaughtUp)
	if !strings.Contains(r.What, "entries behind") || !strings.Contains(r.Do, "--max-lag") {
		t.Errorf("refused promotion: %q; remedy %q; want \"entries behind\" and a remedy with --max-lag", r.What, r.Do)
	}
	if err := l.c.Promote(f.id, 1000); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, l.c.Transfer(f.id), refusal.NotCaughtUp)
	f.c.core.Transport.RefuseEntries(false)
	inStep(t, rs, put(t, rs, 1))
}

func TestNoLeaderRefusal(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	wantRefusal(t, r.c.Remove("rm2", false), refusal.NoLeader)
	if _, err := r.c.ReadIndex(t.Context()); !errors.Is(err, ErrNoLeader) {
		t.Fatalf("read index without a leader: %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	good := func() Config {
		c := testConfig("rm1")
		fastTimers(&c)
		c.DataDir, c.FSM, c.Logger, c.Peer = "x", newTestFSM(), testLogger(t, ""), &struct{ Peer }{}
		return c
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"heartbeat":         func(c *Config) { c.Heartbeat, c.Election, c.Lease = 75e6, 75e6, 75e6 },
		"lease":             func(c *Config) { c.Lease = 200 * time.Millisecond },
		"election":          func(c *Config) { c.Election = 120 * time.Millisecond },
		"trailing":          func(c *Config) { c.Trailing = 1000 },
		"is even":           func(c *Config) { c.BootstrapExpect, c.Join = 2, []string{"a", "b"} },
		"raft.join lists":   func(c *Config) { c.BootstrapExpect, c.Join = 3, []string{"a", "b"} },
		"id ":               func(c *Config) { c.ID = "a b" },
		"stop level":        func(c *Config) { c.DiskStop = 1 },
		"min_quorum":        func(c *Config) { c.Autopilot.CleanupDeadServers = true },
		"watchdog":          func(c *Config) { c.HungExit = time.Second },
		"peer is missing":   func(c *Config) { c.Peer = nil },
		"directory":         func(c *Config) { c.DataDir = "" },
		"fsm and logger":    func(c *Config) { c.FSM = nil },
		"bootstrap_expect ": func(c *Config) { c.BootstrapExpect = 9 },
	} {
		c := good()
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("Validate: %v, want an error with %q", err, strings.TrimSpace(name))
		}
	}
}

// TestSameIDs checks that replicas whose ids differ only in case do not create a cluster.
func TestSameIDs(t *testing.T) {
	of := func(id string) info { return info{Identity: identity.Identity{ID: id}, Empty: true, Expect: 3} }
	if why := disagreement([]info{of("rm1"), of("rm2"), of("RM1")}, 3); !strings.Contains(why,
		"differ only in case: rm1 at") {
		t.Errorf("rm1, rm2 and RM1: %q", why)
	}
	if why := disagreement([]info{of("rm1"), of("rm2"), of("rm3")}, 3); why != "" {
		t.Errorf("rm1, rm2 and rm3: %q", why)
	}
}
