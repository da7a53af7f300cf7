package leader

import (
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// warnedState returns a state with a container that must end by a deadline, because it is
// preempted.
func warnedState(t *testing.T, deadline int64) *state.State {
	t.Helper()
	st := state.New()
	for _, e := range []event.Event{
		&event.TimeAdvanced{NowMillis: 1000}, &event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.LevelPreemption},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}},
		&event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "n", Port: 1}, Rack: "/r", Total: yarn.NewResource(10, 1)},
		&event.ApplicationSubmitted{App: 1, User: "u", Queue: "root.a", Unmanaged: true}, &event.AttemptStarted{App: 1, Attempt: 1}, &event.AttemptActivated{App: 1},
		&event.AskChanged{App: 1, Name: yarn.Any, Count: 1, Size: yarn.NewResource(1, 0)},
		&event.ContainerAllocated{App: 1, Number: 1, Node: 1, Locality: yarn.OffSwitch},
		&event.PreemptionAsked{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}, Queue: "root.a", Cause: yarn.PreemptGuarantee, DeadlineMillis: deadline},
	} {
		if err := st.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// TestRoundsOfPreemption checks that rounds are due after each interval and as soon as a deadline
// has passed, but not while preemption is off. A new leader takes the deadline from the state.
func TestRoundsOfPreemption(t *testing.T) {
	const interval = 30_000
	for _, c := range []struct {
		name     string
		interval int64
		deadline int64 // Unix milliseconds; 0: there is no warning
		rounds   []int64
	}{
		{"off", 0, 5000, nil},
		{"nothing warned", interval, 0, []int64{30_000, 60_000}},
		{"warned", interval, 16_000, []int64{16_000, 17_000, 18_000}},
		{"warned for later", interval, 45_000, []int64{30_000, 45_000, 46_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := state.New()
			if c.deadline != 0 {
				st = warnedState(t, c.deadline)
			}
			expiry := Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, PreemptionMillis: c.interval}
			cfg := CoreConfig{TickInterval: time.Second, Expiry: func(*state.State) Expiry { return expiry }}
			var tm timers
			tm.arm(st, expiry)
			var rounds []int64
			for now := int64(1000); now <= 60_000; now += 1000 {
				tm.tick(st, cfg, now, time.Second, true)
				for in := tm.next(st); in != nil; in = tm.next(st) {
					if _, round := in.(*input.PreemptionRound); round {
						rounds = append(rounds, now)
					}
				}
			}
			if len(rounds) < len(c.rounds) || (c.rounds == nil && rounds != nil) {
				t.Fatalf("rounds at %v, want %v", rounds, c.rounds)
			}
			for i, want := range c.rounds {
				if rounds[i] != want {
					t.Fatalf("rounds at %v, want %v", rounds, c.rounds)
				}
			}
		})
	}
}
