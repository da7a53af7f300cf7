package leader

import (
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// slewPart bounds how fast a Clock is corrected: by a quarter of the time passed. A step of an
	// hour is worked off in four; time runs at most a quarter too fast or too slow meanwhile.
	slewPart = 4
	// slewPassed bounds the time passed that counts for that between two readings, so that a replica
	// that did not lead for a week does not correct more than a day at its first one.
	slewPassed = time.Minute
	// stepMin is the difference to the wall clock above which it is logged.
	stepMin = time.Second
)

// neverSet is the time before which a machine's clock has not been set since it was built.
var neverSet = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock is the time that inputs are stamped with: the machine's wall clock without its steps.
// Lifetimes, keys, tokens and remembered requests are measured by it. A wrong step forward would
// end all of them at once, and a call repeated after it would run twice. So time goes on with the
// monotonic clock, and a difference to the wall clock, in either direction, is worked off slowly.
// It never stands still or runs backwards. A right step is followed the same way; a restarted
// replica begins with its wall clock as it is.
//
// One goroutine uses it at a time.
type Clock struct {
	wall    func() time.Time
	elapsed func() time.Duration
	log     hclog.Logger

	last    int64         // nanoseconds since 1970
	at      time.Duration // when that was, by elapsed
	drifted bool          // it is logged that the clocks differ
}

// NewClock starts with the time of wall. elapsed is the time since some moment that no setting of a
// clock changes.
func NewClock(wall func() time.Time, elapsed func() time.Duration, log hclog.Logger) *Clock {
	return &Clock{wall: wall, elapsed: elapsed, log: log, last: wall().UnixNano(), at: elapsed()}
}

// Millis is the time, not before floor: the time of the newest entry, whose leader's clock may have
// been ahead.
func (k *Clock) Millis(floor int64) int64 {
	wall, at := k.wall(), k.elapsed()
	passed := max(at-k.at, 0)
	k.last, k.at = max(k.last+int64(passed), floor*int64(time.Millisecond)), at
	ahead := time.Duration(wall.UnixNano() - k.last) // of the wall clock
	if k.last < neverSet.UnixNano() && !wall.Before(neverSet) {
		k.last, ahead = wall.UnixNano(), 0 // nothing was measured by such a time
	}
	most := min(passed, slewPassed) / slewPart
	step := min(max(ahead, -most), most)
	k.last += int64(step)
	k.logDrift(ahead - step)
	return max(k.last/int64(time.Millisecond), floor)
}

// logDrift logs the beginning and the end of a difference.
func (k *Clock) logDrift(ahead time.Duration) {
	switch far := ahead.Abs(); {
	case !k.drifted && far > stepMin:
		k.drifted = true
		k.log.Warn("this machine's clock and the cluster's time differ: time follows slowly", "clock_ahead", ahead.Round(time.Millisecond),
			"together_in", (slewPart * far).Round(time.Second), "at_once", "set the clocks, restart the replicas one by one, the leader last")
	case k.drifted && far < stepMin/2:
		k.drifted = false
		k.log.Info("this machine's clock and the cluster's time are together again")
	}
}
