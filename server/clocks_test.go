package server

import (
	"strings"
	"testing"
	"time"
)

// TestWrongClock checks that a clock which is far from the others is replaced by their median and
// reported, that two clocks cannot tell which one is wrong, and that steps of the own clock do not
// change what is known of the others.
func TestWrongClock(t *testing.T) {
	right := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var off, passed time.Duration
	c := &clocks{wall: func() time.Time {
		return right.Add(passed + off)
	}, elapsed: func() time.Duration { return passed }}
	check := func(what string, wantOff time.Duration, warning string) {
		t.Helper()
		if got := c.now().Sub(right.Add(passed)); got != wantOff {
			t.Errorf("%s: the time is off by %s, want %s", what, got, wantOff)
		}
		if got := c.warning(); warning == "" && got != "" || !strings.Contains(got, warning) {
			t.Errorf("%s: warning %q, want %q", what, got, warning)
		}
	}
	told := func(off ...time.Duration) map[string]time.Time {
		all := map[string]time.Time{}
		for i, d := range off {
			all[[]string{"rm2", "rm3"}[i]] = right.Add(passed + d)
		}
		return all
	}
	off = 8 * time.Hour
	check("alone", off, "")
	c.set([]string{"rm2", "rm3"}, told(0))
	check("two clocks", off, "")
	if c.sure() {
		t.Error("two clocks are enough")
	}
	passed = time.Minute
	c.set([]string{"rm2", "rm3"}, map[string]time.Time{"rm3": right.Add(passed + time.Second)})
	check("ahead", time.Second, "7h59m59s ahead of")
	passed = time.Hour
	check("later, nobody answered since", time.Second, "ahead of")
	off = -time.Minute
	check("behind", 0, "1m0s behind")
	off = 9 * time.Second
	check("a little ahead", off, "")
	off = 0
	c.set([]string{"rm2", "rm3"}, told(0, -8*time.Hour))
	check("another one is wrong", 0, "")
	off = time.Hour
	c.set([]string{"rm2"}, nil)
	check("one was removed", off, "")
}
