//go:build interop

package interop

import (
	"os"
	"strconv"
	"testing"
	"time"

	"rmd/interop/harness"
)

// number is a setting from the environment.
func number(t testing.TB, name string, def int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// judged says whether measured times are held against their targets: only where
// the machine has nothing else to do.
func judged() bool { return os.Getenv("RMD_BENCH") != "" }

// TestFailover kills the leader again and again under an ApplicationMaster that
// always asks for more than there is room for, and prints how long it was until
// the next new container, as the ApplicationMaster sees it: with Hadoop's own
// settings and with the tuned ones, with the killed one being that to which
// ApplicationMaster and NodeManagers are connected, and not.
func TestFailover(t *testing.T) {
	kind := harness.DefaultKind()
	kills := number(t, "RMD_INTEROP_KILLS", 2)
	for _, s := range []struct {
		name  string
		tuned bool
	}{{"stock", false}, {"tuned", true}} {
		t.Run(s.name, func(t *testing.T) {
			c := harness.Start(t, harness.Options{Kind: kind, Managers: managers(kind), Tuned: s.tuned, Quick: os.Getenv("RMD_INTEROP_TIMERS") != "default"})
			m := c.StartMaster("churn", "default", "churn", 256, 64, 20*time.Millisecond)
			m.Await("registered", 1, time.Minute)
			for _, connected := range []bool{true, false} {
				name := "connected"
				if !connected {
					name = "elsewhere"
				}
				if !connected && kind != harness.RMD {
					continue // nobody is ever connected to a Java standby
				}
				t.Run(name, func(t *testing.T) { killLeaders(t, c, m, connected, kills) })
			}
		})
	}
}

// managers is how many the kind needs to fail over.
func managers(kind harness.Kind) int {
	if kind == harness.JavaHA {
		return 2
	}
	return 3
}

// target is the longest that a failover may last.
const target = time.Second

func killLeaders(t *testing.T, c *harness.Cluster, m *harness.Master, connected bool, kills int) {
	var spread harness.Spread
	for i := range kills {
		victim := aim(t, c, connected)
		calm(t, m)
		at := time.Now()
		victim.Kill()
		dead := time.Now() // a call before this may still have been the victim's work
		var next harness.Reply
		harness.Await(t, "the next container", 4*time.Minute, func() (ok bool) { next, ok = m.NextContainer(dead); return ok })
		spread = append(spread, next.Ended.Sub(at))
		t.Logf("%2d: %s killed, next container after %s", i+1, victim.ID, next.Ended.Sub(at).Round(100*time.Microsecond))
		victim.Start()
		victim.AwaitReady()
	}
	t.Logf("%s, %s", t.Name(), spread)
	if again := len(m.Lines("started")); again != 1 {
		t.Errorf("the ApplicationMaster was started %d times", again)
	}
	var granted []string
	for _, r := range m.Replies() {
		if r.Containers > 0 {
			granted = append(granted, r.First)
		}
	}
	if harness.Distinct(granted) != len(granted) {
		t.Errorf("%d answers began with %d different containers: one was granted twice", len(granted), harness.Distinct(granted))
	}
	if judged() && c.Kind == harness.RMD && spread.At(99) > target {
		t.Errorf("p99 %s is above %s", spread.At(99), target)
	}
}

// aim makes a replica the leader to which ApplicationMaster and NodeManagers are
// connected, or one to which none of them is. A Java ResourceManager that leads
// is always the one they are connected to.
func aim(t *testing.T, c *harness.Cluster, connected bool) *harness.Manager {
	t.Helper()
	if c.Kind != harness.RMD {
		return c.Active()
	}
	var found *harness.Manager
	harness.Await(t, "a replica is connected to as wanted", time.Minute, func() bool {
		masters, nodes := c.Connected()
		for _, m := range c.Managers {
			all := masters[m.ID] > 0 && nodes[m.ID] >= len(c.Nodes)
			none := masters[m.ID] == 0 && nodes[m.ID] == 0
			if connected && all || !connected && none {
				found = m
				return true
			}
		}
		return false
	})
	c.Lead(found)
	return found
}

// calm waits until containers flow again without a break.
func calm(t *testing.T, m *harness.Master) {
	t.Helper()
	since := time.Now()
	harness.Await(t, "containers flow for two seconds", time.Minute, func() bool {
		if _, ok := m.NextContainer(time.Now().Add(-1500 * time.Millisecond)); !ok {
			since = time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}

// TestAskLatency measures, on an idle cluster, how long it is from the call that
// asks for a container to the answer that has it, with an ApplicationMaster that
// calls each second. On rmd it must be the answer to that very call.
func TestAskLatency(t *testing.T) {
	asks := number(t, "RMD_INTEROP_ASKS", 10)
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind()})
	m := c.StartMaster("latency", "default", "latency", 256, asks, time.Second)
	m.Await("done", 1, time.Minute+time.Duration(asks)*10*time.Second)
	m.Finish()
	var spread harness.Spread
	for _, l := range m.Lines("latency") {
		n, err := strconv.ParseInt(l.Words[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		spread = append(spread, time.Duration(n))
		if calls := l.Words[1]; c.Kind == harness.RMD && calls != "1" {
			t.Errorf("a container took %s calls", calls)
		}
	}
	t.Logf("ask to container on %s, %s; the first one, by cold code, %s", c.Kind, spread, spread[0])
	if judged() && c.Kind == harness.RMD && (spread.At(50) > 5*time.Millisecond || spread.At(99) > 20*time.Millisecond) {
		t.Errorf("%s, want a median of at most 5 ms and a p99 of at most 20 ms", spread)
	}
}
