package leader

import (
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestManagedQueues checks that ManageQueues is due once per interval, and only if there is an
// interval and a dynamic queue.
func TestManagedQueues(t *testing.T) {
	st := state.New()
	for _, e := range []event.Event{&event.TimeAdvanced{NowMillis: 1000},
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.Level},
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
