package leader

import (
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// slewPart is the part of the time passed by which a Clock may be set right: a step of an hour is worked off in
	// four, and time runs at most a quarter too fast or too slow meanwhile.
	slewPart = 4
	// slewPassed bounds what counts for that between two readings: a replica that did not lead for a week did not
	// save up a day and more for its first one.
	slewPassed = time.Minute
	// stepMin is the difference above which it is told that a clock was set.
	stepMin = time.Second
)

// neverSet is the time before which a machine's clock has not been set since it was built.
var neverSet = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock is the time that inputs are stamped with: the machine's wall clock without its steps. Lifetimes, keys,
// tokens and the memory of calls are measured by it, and a wrong step forward would end all of them at once: a call
// repeated after it would run twice. So time goes on with the monotonic clock, and a difference to the wall clock,
// in either direction, is worked off slowly; it never stands still nor runs backwards. A step that is right is
// followed the same way; a replica that is started anew begins with its wall clock as it is.
//
// One goroutine uses it at a time.
type Clock struct {
	wall    func() time.Time
	elapsed func() time.Duration
	log     hclog.Logger

	told int64         // nanoseconds since 1970
	at   time.Duration // when that was, by elapsed
	off  bool          // it was told that the clocks differ
}

// NewClock starts with what wall says. elapsed is the time since some moment that no setting of a clock changes.
func NewClock(wall func() time.Time, elapsed func() time.Duration, log hclog.Logger) *Clock {
	return &Clock{wall: wall, elapsed: elapsed, log: log, told: wall().UnixNano(), at: elapsed()}
}

// Millis is the time, not before floor: the time of the newest entry, whose leader's clock may have been ahead.
func (k *Clock) Millis(floor int64) int64 {
	wall, at := k.wall(), k.elapsed()
	passed := max(at-k.at, 0)
	k.told, k.at = max(k.told+int64(passed), floor*int64(time.Millisecond)), at
	ahead := time.Duration(wall.UnixNano() - k.told) // of the wall clock
	if k.told < neverSet.UnixNano() && !wall.Before(neverSet) {
		k.told, ahead = wall.UnixNano(), 0 // nothing was measured by such a time
	}
	most := min(passed, slewPassed) / slewPart
	step := min(max(ahead, -most), most)
	k.told += int64(step)
	k.note(ahead - step)
	return max(k.told/int64(time.Millisecond), floor)
}

// note logs the beginning and the end of a difference.
func (k *Clock) note(ahead time.Duration) {
	switch far := ahead.Abs(); {
	case !k.off && far > stepMin:
		k.off = true
		k.log.Warn("this machine's clock and the cluster's time differ: time follows slowly", "clock_ahead", ahead.Round(time.Millisecond),
			"together_in", (slewPart * far).Round(time.Second), "at_once", "set the clocks, restart the replicas one by one, the leader last")
	case k.off && far < stepMin/2:
		k.off = false
		k.log.Info("this machine's clock and the cluster's time are together again")
	}
}
