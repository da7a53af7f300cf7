package leader

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

func (r *fixture) must(t *testing.T, req input.Request) {
	t.Helper()
	if _, _, err := r.Do(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func TestSilentNodeExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		defer r.lead(1)()
		r.must(t, register("quiet"))
		r.must(t, register("alive"))
		for range 599 {
			time.Sleep(time.Second)
			r.must(t, heartbeat("alive"))
		}
		if e := r.planner.expired(); len(e) != 0 {
			t.Fatalf("%v expired before their time", e)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); !slices.Equal(e, []string{"quiet"}) {
			t.Fatalf("expired: %v", e)
		}
		if _, st := r.log.applied(); st.Nodes.Get(1).State != yarn.NodeLost {
			t.Error("the expiry is not in the log")
		}
		// The node comes back and is watched again.
		r.must(t, register("quiet"))
		r.must(t, heartbeat("alive"))
		time.Sleep(598 * time.Second)
		r.must(t, heartbeat("alive"))
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); !slices.Equal(e, []string{"quiet", "quiet"}) {
			t.Errorf("expired: %v", e)
		}
	})
}

// TestInactiveNodeIsForgotten checks that ForgetNode is due after UntrackedMillis, also for a new
// leader, and that the next node with the same number has its own timers.
func TestInactiveNodeIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, func(cfg *Config) {
			cfg.Expiry = func(*state.State) Expiry {
				return Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, UntrackedMillis: 60_000}
			}
		})
		stop := r.lead(1)
		r.must(t, register("gone"))
		time.Sleep(602 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); !slices.Equal(e, []string{"gone"}) {
			t.Fatalf("due: %v", e)
		}
		stop()
		defer r.lead(2)()
		time.Sleep(55 * time.Second)
		if e := r.planner.expired(); len(e) != 0 {
			t.Fatalf("%v before its time", e)
		}
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); !slices.Equal(e, []string{"forget gone"}) {
			t.Fatalf("due: %v", e)
		}
		r.must(t, register("next"))
		if _, st := r.log.applied(); st.Nodes.Get(1).ID.Host != "next" {
			t.Errorf("number 1 is %s", st.Nodes.Get(1).ID)
		}
		time.Sleep(602 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); !slices.Equal(e, []string{"forget gone", "next"}) {
			t.Errorf("due: %v", e)
		}
	})
}

// TestLateHeartbeatsDoNotKeepANode checks that late copies of heartbeats do not keep a node alive.
func TestLateHeartbeatsDoNotKeepANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		defer r.lead(1)()
		r.must(t, register("gone"))
		for range 60 {
			time.Sleep(10 * time.Second)
			r.must(t, input.Request{Input: &input.NodeHeartbeat{ID: yarn.NodeID{Host: "gone", Port: 1},
				HeartbeatSession: lateStay}})
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); !slices.Equal(e, []string{"gone"}) {
			t.Errorf("expired: %v", e)
		}
	})
}

func TestNewLeaderGivesAFullInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		stop := r.lead(1)
		r.must(t, register("a"))
		time.Sleep(599 * time.Second)
		stop()
		time.Sleep(time.Hour) // no replica leads
		defer r.lead(2)()
		time.Sleep(599 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); len(e) != 0 {
			t.Fatalf("the new leader expired %v too early", e)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); len(e) != 1 {
			t.Errorf("expired: %v", e)
		}
	})
}

// TestStandstillExpiresNobody checks that nothing expires after the leader stood still. Heartbeats
// that wait in its queue must be handled before their senders can expire.
func TestStandstillExpiresNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		defer r.lead(1)()
		r.must(t, register("a"))
		r.planner.slow(time.Hour) // planning one input takes longer than the interval
		r.must(t, audit("slow"))
		r.planner.slow(0)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); len(e) != 0 {
			t.Errorf("expired: %v", e)
		}
	})
}

func TestShorterIntervalHoldsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var interval atomic.Int64
		interval.Store(600_000)
		r := newFixture(t, func(c *Config) {
			c.Expiry = func(*state.State) Expiry { return Expiry{NodeMillis: interval.Load(), AttemptMillis: interval.Load()} }
		})
		defer r.lead(1)()
		r.must(t, register("a"))
		time.Sleep(time.Minute)
		interval.Store(5_000)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); len(e) != 1 {
			t.Errorf("expired: %v", e)
		}
	})
}

func TestAttemptExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		for _, e := range []event.Event{
			&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.Level},
			&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}},
			&event.ApplicationSubmitted{App: 1, User: "u", Queue: "root.a", Unmanaged: true},
			&event.AttemptStarted{App: 1, Attempt: 1}, &event.AttemptActivated{App: 1}, &event.AttemptRegistered{App: 1},
			&event.ApplicationSubmitted{App: 2, User: "u", Queue: "root.a", Unmanaged: true},
			&event.AttemptStarted{App: 2, Attempt: 1}, &event.AttemptActivated{App: 2}, &event.AttemptRegistered{App: 2},
			&event.ApplicationSubmitted{App: 3, User: "u", Queue: "root.a", Unmanaged: true},
			&event.AttemptStarted{App: 3, Attempt: 1}, // waits, so it has no timer
			&event.ApplicationSubmitted{App: 4, User: "u", Queue: "root.a", Unmanaged: true},
			&event.AttemptStarted{App: 4, Attempt: 1}, &event.AttemptActivated{App: 4}, // its AM never registers
		} {
			if err := r.log.st.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		defer r.lead(1)()
		id := yarn.AttemptID{App: yarn.ApplicationID{ClusterTimestamp: 5, Seq: 2}, Attempt: 1}
		for range 65 {
			time.Sleep(10 * time.Second)
			r.must(t, input.Request{Input: &input.Allocate{Attempt: id}})
		}
		if e := r.planner.expired(); !slices.Equal(e, []string{"appattempt_5_0001_000001", "appattempt_5_0004_000001"}) {
			t.Errorf("expired: %v", e)
		}
	})
}

func TestTickOnlyWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		defer r.lead(1)()
		r.must(t, register("a"))
		deadline := time.Now().Add(30 * time.Second)
		r.must(t, input.Request{Input: &input.DrainNode{ID: yarn.NodeID{Host: "a", Port: 1},
			DeadlineMillis: deadline.UnixMilli()}})
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if n := r.planner.ticked(); n != 0 {
			t.Errorf("%d ticks before anything was due", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := r.planner.ticked(); n != 1 {
			t.Errorf("%d ticks for one drain", n)
		}
		if _, st := r.log.applied(); st.Nodes.Get(1).State != yarn.NodeDecommissioned {
			t.Errorf("the node is %s", st.Nodes.Get(1).State)
		}
	})
}

// TestMassExpiryLetsCallersThrough checks that many expiries do not delay callers: the leader
// alternates between both.
func TestMassExpiryLetsCallersThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		const n = 500
		for i := range n {
			if err := r.log.st.Apply(&event.NodeRegistered{Node: state.NodeSlot(i + 1),
				ID: yarn.NodeID{Host: fmt.Sprint(i), Port: 1}, Rack: "/r"}); err != nil {
				t.Fatal(err)
			}
		}
		r.cost = time.Millisecond
		defer r.lead(1)()
		time.Sleep(600*time.Second + 10*time.Millisecond)
		began := time.Now()
		r.must(t, audit("caller"))
		if d := time.Since(began); d > 20*time.Millisecond {
			t.Errorf("a caller waited %s", d)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if e := r.planner.expired(); len(e) != n {
			t.Errorf("%d expired", len(e))
		}
	})
}

func TestWheel(t *testing.T) {
	const n, interval = 50_000, 600_000
	w := newWheel(0)
	for k := range uint64(n) {
		w.add(k, int64(k%5000), interval)
	}
	gone := map[uint64]int64{}
	for now := int64(0); now < 1_300_000; now += 1000 {
		if now < 1_000_000 {
			for k := uint64(now/1000) % 10; k < n; k += 20 { // those with k%20 < 10 are touched every 10 s
				w.touch(k, now)
			}
		}
		w.collect(now, interval, func(k uint64) bool { return k != 7 }, func(k uint64) {
			if _, again := gone[k]; !again {
				gone[k] = now
			}
		})
	}
	for k := range uint64(n) {
		at, ok := gone[k]
		switch {
		case k == 7:
			if ok {
				t.Errorf("unwanted entry was reported")
			}
		case k%20 < 10: // touched until 1,000,000
			if ok {
				t.Fatalf("%d reported at %d though it was heard of", k, at)
			}
		default:
			if want := int64(k%5000) + interval; !ok || at < want || at > want+slotMillis {
				t.Fatalf("%d reported at %d (%v), its deadline is %d", k, at, ok, want)
			}
		}
	}
	if filed := 0; true {
		for _, keys := range w.slots {
			filed += len(keys)
		}
		if filed != n-1 || len(w.heard) != n-1 {
			t.Errorf("%d filed, %d known, want %d", filed, len(w.heard), n-1)
		}
	}
}
