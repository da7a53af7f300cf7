package metrics

import (
	"testing"
	"time"
)

func TestTimingsForgetWhatIsLongAgo(t *testing.T) {
	m := New("test")
	k := NewTimings(m)
	if k.Look(); k.P99(CommitSeconds) != 0 {
		t.Errorf("of nothing: %v", k.P99(CommitSeconds))
	}
	for range 100 {
		m.ObserveCommit(time.Second)
	}
	k.Look()
	if got := k.P99(CommitSeconds); got < 800*time.Millisecond || got > 1700*time.Millisecond {
		t.Errorf("of commits that took a second: %v", got)
	}
	if got := k.P99(SyncSeconds); got != 0 {
		t.Errorf("no sync was measured: %v", got)
	}
	for range 3 { // the slow commits leave the window, the fast ones are in it
		for range timingWindow {
			k.Look()
		}
		for range 1000 {
			m.ObserveCommit(2 * time.Millisecond)
		}
	}
	k.Look()
	if got := k.P99(CommitSeconds); got < time.Millisecond || got > 4*time.Millisecond {
		t.Errorf("lately commits took 2 ms: %v", got)
	}
}

func TestQuantileLiesWithinItsBucket(t *testing.T) {
	bounds := []float64{1, 2, 4}
	for _, c := range []struct {
		counts []uint64
		want   float64
	}{
		{[]uint64{0, 0, 0, 0}, 0},
		{[]uint64{100, 100, 100, 100}, 0.99},
		{[]uint64{0, 100, 100, 100}, 1.99},
		{[]uint64{98, 98, 100, 100}, 3},
		{[]uint64{0, 0, 0, 5}, 4}, // above the last bound
	} {
		if got := quantile(0.99, bounds, c.counts); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%v: %v, want %v", c.counts, got, c.want)
		}
	}
}
