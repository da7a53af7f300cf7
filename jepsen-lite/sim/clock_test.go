package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClock checks that a step lasts, that drift grows with time, and that a later change starts
// from the time that the clock shows.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &replica{}
		off := func() time.Duration { return time.Until(r.wall()) }
		if off() != 0 {
			t.Errorf("a clock that was never set is off by %s", off())
		}
		r.setClock(time.Minute, 0)
		time.Sleep(time.Hour)
		if off() != time.Minute {
			t.Errorf("off by %s", off())
		}
		r.setClock(0, -100)
		time.Sleep(10 * time.Second)
		if off() != 59*time.Second {
			t.Errorf("off by %s", off())
		}
		r.setClock(-time.Minute, 0)
		if off() != -time.Second {
			t.Errorf("off by %s", off())
		}
	})
}
