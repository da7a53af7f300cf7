package server

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rmd/cluster"
)

// TestReadyWhenCaughtUp checks that a follower is ready only after it has applied the leader's
// commit index, which the leader tells only when it can prove its leadership. Each leadership
// starts this again.
func TestReadyWhenCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var proves atomic.Bool
		var applied atomic.Uint64
		applied.Store(3)
		committed := uint64(9)
		y := &readiness{applied: applied.Load, spawn: func(f func()) { go f() },
			committed: func(context.Context) (uint64, error) {
				if !proves.Load() {
					return 0, errors.New("no majority answers")
				}
				return committed, nil
			},
			reached: func(ctx context.Context, index uint64) error {
				for ctx.Err() == nil && applied.Load() < index {
					time.Sleep(time.Millisecond)
				}
				return ctx.Err()
			}}
		is := func(ready bool, says string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			if ok, why := y.verdict(); ok != ready || !strings.Contains(why, says) {
				t.Fatalf("ready %v: %q, want %v with %q", ok, why, ready, says)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		is(false, "not told") // just started, without a leader
		y.follow(ctx, cluster.Leadership{Term: 1, LeaderID: "rm2"})
		is(false, "not told")
		proves.Store(true)
		is(false, "3 of 9")
		applied.Store(9)
		is(true, "")
		y.follow(ctx, cluster.Leadership{Term: 1})
		is(false, "")
		committed = 12
		y.follow(ctx, cluster.Leadership{Term: 2, LeaderID: "rm3"})
		is(false, "9 of 12")
		y.follow(ctx, cluster.Leadership{Term: 3, LeaderID: "rm2"}) // during the search
		is(false, "9 of 12")
		applied.Store(12)
		is(true, "")
		cancel()
		synctest.Wait()
	})
}
