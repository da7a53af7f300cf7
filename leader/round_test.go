package leader

import (
	"slices"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// TestRoundsOfPreemption checks that rounds are due after each interval, and as soon as a deadline
// has passed. Each round begins a new interval.
func TestRoundsOfPreemption(t *testing.T) {
	const interval = 30_000
	for _, c := range []struct {
		name     string
		interval int64
		passed   []int64 // when a deadline passes, in Unix milliseconds
		rounds   []int64
	}{
		{"off", 0, nil, nil},
		{"off, a lease ends", 0, []int64{5000}, []int64{5000}},
		{"nothing warned", interval, nil, []int64{30_000, 60_000}},
		{"warned", interval, []int64{16_000, 17_000}, []int64{16_000, 17_000, 47_000}},
		{"warned for later", interval, []int64{45_000}, []int64{30_000, 45_000}},
		{"both at once", interval, []int64{30_000}, []int64{30_000, 60_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := state.New()
			expiry := Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, PreemptionMillis: c.interval}
			cfg := CoreConfig{TickInterval: time.Second, Expiry: func(*state.State) Expiry { return expiry }}
			var tm timers
			tm.arm(st, expiry)
			var rounds []int64
			for now := int64(1000); now <= 60_000; now += 1000 {
				tm.tick(st, cfg, now, time.Second, true)
				if slices.Contains(c.passed, now) {
					tm.deadlines = []input.Input{&input.PreemptionRound{}}
				}
				for in := tm.next(st); in != nil; in = tm.next(st) {
					if _, round := in.(*input.PreemptionRound); round {
						rounds = append(rounds, now)
					}
				}
			}
			if !slices.Equal(rounds, c.rounds) {
				t.Errorf("rounds at %v, want %v", rounds, c.rounds)
			}
		})
	}
}
