package cluster

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	autopilot "github.com/hashicorp/raft-autopilot"

	"rmd/cluster/local"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
)

// TestAutopilotSettingsOverride checks that the settings of AutopilotNow replace those of the
// configuration for as long as it returns any.
func TestAutopilotSettingsOverride(t *testing.T) {
	var told *AutopilotConfig
	core := &local.Replica{Config: DefaultConfig()}
	c := &Cluster{core: core, changes: &changes{Replica: core}}
	c.core.Config.AutopilotNow = func() (AutopilotConfig, bool) {
		if told == nil {
			return AutopilotConfig{}, false
		}
		return *told, true
	}
	if got := c.AutopilotConfig(); got != local.DefaultAutopilot() {
		t.Errorf("AutopilotConfig without settings = %+v, want %+v", got, local.DefaultAutopilot())
	}
	told = &AutopilotConfig{MaxTrailingLogs: 7, LastContactThreshold: time.Second,
		DeadServerLastContactThreshold: time.Hour}
	want := *told
	want.Interval = local.DefaultAutopilot().Interval
	if got := c.AutopilotConfig(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	told = nil
	if got := c.AutopilotConfig(); got != local.DefaultAutopilot() {
		t.Errorf("AutopilotConfig after the settings are removed = %+v, want %+v", got, local.DefaultAutopilot())
	}
	if err := c.CheckAutopilot(want); err != nil {
		t.Error(err)
	}
	want.DeadServerLastContactThreshold = time.Second
	var r *refusal.Refusal
	if err := c.CheckAutopilot(want); !errors.As(err, &r) || r.Code != refusal.OutOfRange {
		t.Errorf("CheckAutopilot of 1s for dead servers: %v, want a refusal with code %s", err, refusal.OutOfRange)
	}
}

// TestAutopilotRemovesDead checks which of two dead voters of five autopilot removes: none without
// CleanupDeadServers, and never more than MinQuorum allows. A dead non-voter does not count as a
// voter.
func TestAutopilotRemovesDead(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[AutopilotConfig]
	set := func(cleanup bool, quorum uint) {
		a := testConfig("any").Autopilot
		a.CleanupDeadServers, a.MinQuorum, a.DeadServerLastContactThreshold = cleanup, quorum, time.Hour
		now.Store(&a)
	}
	set(false, 0)
	tweak := func(c *Config) {
		c.AutopilotNow = func() (AutopilotConfig, bool) { return *now.Load(), true }
	}
	rs := trio(t, tweak)
	for _, id := range []string{"rm4", "rm5", "rm6"} {
		r := newReplica(t, id, tweak).start()
		rs = append(rs, r)
		if err := r.c.Join(t.Context(), []string{rs[0].addr}, "", false); err != nil {
			t.Fatal(err)
		}
	}
	l := rs[0].c
	members := func(nv, all int) func() bool {
		return func() bool {
			conf := l.core.Configuration()
			return len(servers.Voters(conf)) == nv && len(conf.Servers) == all
		}
	}
	eventually(t, patience, "six voters", members(6, 6))
	if err := l.Demote("rm6"); err != nil {
		t.Fatal(err)
	}
	for _, r := range rs[3:] {
		r.kill()
	}
	eventually(t, patience, "autopilot sees that three are dead", func() bool {
		l.autopilot.mu.Lock()
		for id := range l.autopilot.seen { // an hour passes for all, and those that live answer again
			l.autopilot.seen[id] = time.Now().Add(-2 * time.Hour)
		}
		l.autopilot.mu.Unlock()
		n := 0
		for _, s := range l.autopilot.KnownServers() {
			if s.NodeStatus == autopilot.NodeFailed {
				n++
			}
		}
		return n == 3
	})
	rounds(t, l)
	if !members(5, 6)() {
		t.Fatalf("without cleanup_dead_servers the members are %v", l.core.Configuration().Servers)
	}
	set(true, 5)
	eventually(t, patience, "the non-voter is removed", members(5, 5))
	rounds(t, l)
	if !members(5, 5)() {
		t.Fatalf("with min_quorum 5 the members are %v", l.core.Configuration().Servers)
	}
	set(true, 4)
	eventually(t, patience, "one voter is removed", members(4, 4))
	rounds(t, l)
	if !members(4, 4)() {
		t.Fatalf("with min_quorum 4 the members are %v", l.core.Configuration().Servers)
	}
	set(true, 3)
	eventually(t, patience, "the other voter is removed", members(3, 3))
	if err := l.core.Current().Raft.VerifyLeader().Error(); err != nil {
		t.Error(err)
	}
}

// rounds waits for some rounds of autopilot: each stores a new state.
func rounds(t *testing.T, c *Cluster) {
	t.Helper()
	for range 20 {
		last := c.autopilot.ap.GetState()
		eventually(t, patience, "a round of autopilot", func() bool { return c.autopilot.ap.GetState() != last })
	}
}
