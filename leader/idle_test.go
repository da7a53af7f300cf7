package leader

import (
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestIdleQueues checks that the removal of a dynamic queue is due when the queue has been idle for
// QueueMillis, that a new leader does not start this time again, and that a queue in use is not
// removed.
func TestIdleQueues(t *testing.T) {
	st := state.New()
	apply := func(list ...event.Event) {
		t.Helper()
		for _, e := range list {
			if err := st.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	apply(&event.TimeAdvanced{NowMillis: 1000}, &event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.LevelDynamicQueues},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}}},
		&event.QueueCreated{Path: "root.ann", Leaf: true, State: yarn.QueueRunning}, &event.ApplicationSubmitted{App: 1, User: "ann", Queue: "root.ann"})
	expiry := Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, QueueMillis: 60_000}
	cfg := CoreConfig{TickInterval: time.Second, Expiry: func(*state.State) Expiry { return expiry }}
	due := func(tm *timers, from, to int64) int64 {
		for now := from; now <= to; now += 1000 {
			tm.tick(st, cfg, now, time.Second, true)
			for in := tm.next(st); in != nil; in = tm.next(st) {
				if _, ok := in.(*input.RemoveIdleQueues); ok {
					return now
				}
			}
		}
		return 0
	}
	var tm timers
	tm.arm(st, expiry)
	if at := due(&tm, 2000, 200_000); at != 0 {
		t.Errorf("the removal of a queue in use is due at %d", at)
	}
	apply(&event.TimeAdvanced{NowMillis: 200_000}, &event.ApplicationEnded{App: 1, State: yarn.AppKilled})
	if at := due(&tm, 201_000, 400_000); at < 260_000 || at > 266_000 {
		t.Errorf("idle since 200000, due at %d", at)
	}
	var next timers
	next.arm(st, expiry)
	if at := due(&next, 300_000, 400_000); at != 300_000 {
		t.Errorf("a new leader finds it due at %d", at)
	}
}

// TestManagedQueues checks that ManageQueues is due once per interval, and only if there is an
// interval and a dynamic queue.
func TestManagedQueues(t *testing.T) {
	st := state.New()
	for _, e := range []event.Event{&event.TimeAdvanced{NowMillis: 1000}, &event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.LevelDynamicQueues},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}}}} {
		if err := st.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	expiry := Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, ManageMillis: 3000}
	cfg := CoreConfig{TickInterval: time.Second, Expiry: func(*state.State) Expiry { return expiry }}
	looks := func() (n int) {
		var tm timers
		tm.arm(st, expiry)
		for now := int64(2000); now < 32_000; now += 1000 {
			tm.tick(st, cfg, now, time.Second, true)
			for in := tm.next(st); in != nil; in = tm.next(st) {
				if _, ok := in.(*input.ManageQueues); ok {
					n++
				}
			}
		}
		return n
	}
	if n := looks(); n != 0 {
		t.Errorf("%d looks without dynamic queues", n)
	}
	if err := st.Apply(&event.QueueCreated{Path: "root.ann", Leaf: true, State: yarn.QueueRunning}); err != nil {
		t.Fatal(err)
	}
	if n := looks(); n != 10 {
		t.Errorf("%d looks in 30 s, one each 3 s", n)
	}
	expiry.ManageMillis = 0
	if n := looks(); n != 0 {
		t.Errorf("%d looks without managed parents", n)
	}
}
