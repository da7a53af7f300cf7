package leader

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// twoClocks has a wall clock that can be set, and a monotonic clock that cannot.
type twoClocks struct {
	off     time.Duration
	elapsed time.Duration
}

var someDay = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func (c *twoClocks) wall() time.Time           { return someDay.Add(c.elapsed + c.off) }
func (c *twoClocks) passed() time.Duration     { return c.elapsed }
func (c *twoClocks) clock() *Clock             { return NewClock(c.wall, c.passed, hclog.NewNullLogger()) }
func since(millis int64) time.Duration         { return time.UnixMilli(millis).Sub(someDay) }
func (c *twoClocks) pass(d time.Duration)      { c.elapsed += d }
func read(k *Clock, floor int64) time.Duration { return since(k.Millis(floor)) }

// run advances the time in steps of a second and returns the time that the Clock has advanced.
func (c *twoClocks) run(t *testing.T, k *Clock, d time.Duration) time.Duration {
	t.Helper()
	first := read(k, 0)
	last := first
	for end := c.elapsed + d; c.elapsed < end; {
		c.pass(time.Second)
		now := read(k, 0)
		if went := now - last; went < 700*time.Millisecond || went > 1300*time.Millisecond {
			t.Fatalf("a second was %s", went)
		}
		last = now
	}
	return last - first
}

// TestClockSmoothsSteps checks that a step of the wall clock does not move the time at once, and
// that the difference is gone after a limited time.
func TestClockSmoothsSteps(t *testing.T) {
	for _, step := range []time.Duration{25 * time.Hour, -25 * time.Hour, 90 * time.Minute, -time.Minute,
		300 * time.Millisecond} {
		c := &twoClocks{}
		k := c.clock()
		c.run(t, k, time.Minute)
		c.off = step
		if now := read(k, 0); now != time.Minute {
			t.Errorf("a step of %s moved the time by %s", step, now-time.Minute)
		}
		c.run(t, k, slewPart*step.Abs()+time.Second)
		if now := read(k, 0); (now - c.elapsed - step).Abs() > time.Millisecond {
			t.Errorf("%s after a step of %s the time is off by %s", c.elapsed, step, now-c.elapsed-step)
		}
	}
}

// TestClockFollowsDrift checks that the Clock follows a wall clock that is a tenth too fast or too
// slow.
func TestClockFollowsDrift(t *testing.T) {
	for _, part := range []time.Duration{10, -10} {
		c := &twoClocks{}
		k := c.clock()
		for range 3600 {
			c.pass(time.Second)
			c.off += time.Second / part
			if now := read(k, 0); now != c.elapsed+c.off {
				t.Fatalf("the time is %s, not %s", now, c.elapsed+c.off)
			}
		}
	}
}

// TestClockContinuesFromLog checks that the time continues from the newest entry if its leader's
// clock was ahead. A step while nobody reads the Clock does not count as passed time.
func TestClockContinuesFromLog(t *testing.T) {
	c := &twoClocks{}
	k := c.clock()
	floor := someDay.Add(time.Hour).UnixMilli()
	if now := read(k, floor); now != time.Hour {
		t.Errorf("the time is %s, before the newest entry's", now)
	}
	if went := c.run(t, k, time.Minute); went <= 0 || went >= time.Minute {
		t.Errorf("in a minute the time went on by %s", went)
	}
	c.pass(30 * 24 * time.Hour)
	c.off = 25 * time.Hour
	if now := read(k, 0); now < c.elapsed || now > c.elapsed+time.Hour+slewPassed {
		t.Errorf("after a month the time is off by %s", now-c.elapsed)
	}
}

// TestClockStartsIn1970 checks a machine that starts in 1970 and is set later, when it has a
// network.
func TestClockStartsIn1970(t *testing.T) {
	c := &twoClocks{off: -someDay.Sub(time.Unix(0, 0))}
	k := c.clock()
	c.pass(time.Minute)
	if now := k.Millis(0); now != 60_000 {
		t.Errorf("the time is %d", now)
	}
	c.off = 0
	if now := read(k, 0); now != time.Minute {
		t.Errorf("the time is %s after the clock was set", now)
	}
}

// TestClockStepKeepsCalls moves the leader's wall clock by more than the time for which calls are
// remembered, and then starts new leaderships. No remembered call is forgotten, and nothing becomes
// due.
func TestClockStepKeepsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var step, dueAt atomic.Int64 // step in nanoseconds, dueAt in milliseconds
		begin := time.Now()
		r := newFixture(t, func(c *Config) {
			c.Now = func() time.Time { return time.Now().Add(time.Duration(step.Load())) }
		})
		r.due = func(now int64) []input.Input { dueAt.Store(now); return nil }
		end := r.lead(1)
		time.Sleep(5 * time.Second)
		if _, _, err := r.Do(t.Context(), audit("x")); err != nil {
			t.Fatal(err)
		}
		step.Store(int64(25 * time.Hour))
		for term := uint64(2); term < 4; term++ {
			time.Sleep(5 * time.Second)
			if _, _, err := r.Do(t.Context(), audit("y")); err != nil {
				t.Fatal(err)
			}
			end()
			end = r.lead(term)
			time.Sleep(5 * time.Second)
		}
		end()
		most := begin.UnixMilli() + (time.Since(begin) + time.Since(begin)/slewPart).Milliseconds()
		_, st := r.log.applied()
		if last := st.Meta.NowMillis; last > most || dueAt.Load() > most || dueAt.Load() == 0 {
			t.Errorf("stamped with %s after %s, timers looked at for %s", time.UnixMilli(last).Sub(begin), time.Since(begin),
				time.UnixMilli(dueAt.Load()).Sub(begin))
		}
		if st.Meta.NowMillis-begin.UnixMilli() >= state.RequestKeepMillis {
			t.Error("what was remembered before the step is forgotten")
		}
	})
}

// TestClockBeginsWithSureTime checks that a replica whose clock was wrong at its start, and which
// then learned the right time, leads with the right time. Without knowing it leads with its own.
func TestClockBeginsWithSureTime(t *testing.T) {
	for _, sure := range []bool{true, false} {
		c := &twoClocks{off: 8 * time.Hour}
		k := c.clock()
		k.sure = func() bool { return sure }
		c.pass(time.Minute)
		c.off = 0
		want := time.Minute
		if !sure {
			want += 8*time.Hour - time.Minute/slewPart
		}
		if now := read(k, 0); now != want {
			t.Errorf("sure %v: the time is %s, want %s", sure, now, want)
		}
		c.off = 8 * time.Hour
		if now := read(k, 0); now != want {
			t.Errorf("sure %v: a later step moved the time to %s", sure, now)
		}
	}
}
