package timers

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// TestCheck checks the bounds and the order of timers, and that the defaults and the lowest recommended
// values keep them.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		timers Timers
		want   string
	}{
		{Default(), ""},
		{Lowest(), ""},
		{Timers{100 * ms, 100 * ms, 1}, ""},
		{Timers{99 * ms, 99 * ms, 90 * ms}, "raft.heartbeat: 99ms is below 100ms; "},
		{Timers{500 * ms, 400 * ms, 0},
			"raft.lease: 0s must be above 0 and at most raft.heartbeat (500ms); raft.election: 400ms must be at least raft.heartbeat (500ms); "},
		{Timers{500 * ms, 500 * ms, 600 * ms}, "raft.lease: 600ms must be above 0 and at most raft.heartbeat (500ms); "},
	} {
		got := ""
		for _, f := range c.timers.Check() {
			got += f.Error() + "; "
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.timers, got, c.want)
		}
	}
	if Default().Low() || Lowest().Low() || !(Timers{150 * ms, 150 * ms, 99 * ms}).Low() {
		t.Error("Low takes a recommended value for a low one, or a low one for a recommended one")
	}
	if f := (Timers{75 * ms, 75 * ms, 75 * ms}).CheckOrder(); len(f) != 0 {
		t.Errorf("timers in order: %v", f)
	}
}
