//go:build interop

package interop

import (
	"os"
	"strconv"
	"testing"
	"time"

	"rmd/interop/harness"
)

// number returns a number from an environment variable, or def.
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

// judged reports whether to compare measured times with their targets. That is useful only on an
// otherwise idle machine.
func judged() bool { return os.Getenv("RMD_BENCH") != "" }

// TestFailover repeatedly kills the leader while an ApplicationMaster always asks for more
// containers than fit. It prints the time until the ApplicationMaster gets the next new container,
// with Hadoop's default settings and with the recommended ones, and for leaders to which the
// ApplicationMaster and the NodeManagers are connected and for others.
func TestFailover(t *testing.T) {
	kind := harness.DefaultKind()
	kills := number(t, "RMD_INTEROP_KILLS", 2)
	for _, s := range []struct {
		name  string
		tuned bool
	}{{"stock", false}, {"tuned", true}} {
		t.Run(s.name, func(t *testing.T) {
			c := harness.Start(t, harness.Options{Kind: kind, Managers: managers(kind), Tuned: s.tuned,
				Quick: os.Getenv("RMD_INTEROP_TIMERS") != "default"})
			m := c.StartMaster("churn", "default", "churn", 256, 64, 20*time.Millisecond)
			m.Await("registered", 1, time.Minute)
			for _, connected := range []bool{true, false} {
				name := "connected"
				if !connected {
					name = "elsewhere"
				}
				if !connected && kind != harness.RMD {
					continue // no process is connected to a Java standby
				}
				t.Run(name, func(t *testing.T) { killLeaders(t, c, m, connected, kills) })
			}
		})
	}
}

// managers returns the number of ResourceManagers that the kind needs for failover.
func managers(kind harness.Kind) int {
	if kind == harness.JavaHA {
		return 2
	}
	return 3
}

// target is the maximum duration of a failover.
const target = time.Second

func killLeaders(t *testing.T, c *harness.Cluster, m *harness.Master, connected bool, kills int) {
	var spread harness.Spread
	for i := range kills {
		victim := aim(t, c, connected)
		calm(t, m)
		at := time.Now()
		victim.Kill()
		dead := time.Now() // an earlier answer may still come from the victim
		var next harness.Reply
		harness.Await(t, "the next container", 4*time.Minute, func() (ok bool) {
			next, ok = m.NextContainer(dead)
			return ok
		})
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
		t.Errorf("%d answers began with %d different containers: one was granted twice", len(granted),
			harness.Distinct(granted))
	}
	if judged() && c.Kind == harness.RMD && spread.At(99) > target {
		t.Errorf("p99 %s is above %s", spread.At(99), target)
	}
}

// aim makes a replica the leader to which the ApplicationMaster and all NodeManagers are connected,
// or to which none of them is. An active Java ResourceManager always has all connections.
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

// calm waits until new containers have arrived regularly for two seconds.
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

// TestAskLatency measures the time from an ask to the answer with the container, on an idle cluster
// with an ApplicationMaster that calls each second. With rmd, the answer to the call with the ask
// must contain the container.
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
