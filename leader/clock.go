package leader

import (
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// slewPart limits the rate at which a Clock is corrected to a quarter of the time passed. A
	// step of an hour takes four hours. Meanwhile time runs at most a quarter too fast or too slow.
	slewPart = 4
	// slewPassed limits the time between two readings that counts for this. A replica that has not
	// led for a week therefore does not correct its clock by more than a day at the first reading.
	slewPassed = time.Minute
	// stepMin is the difference to the wall clock above which it is logged.
	stepMin = time.Second
)

// neverSet is the limit for a plausible clock. A clock with an earlier time has not been set since
// the machine was built.
var neverSet = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock stamps inputs. It follows the machine's wall clock, but not its steps.
//
// Lifetimes, keys, tokens and idempotency keys are measured by it. If it followed a wrong step
// forward, all of them would end at once, and a repeated call would be executed twice. Therefore
// time advances with the monotonic clock, and a difference to the wall clock is removed slowly, in
// both directions. The time never stands still or goes back. A correct step is followed in the same
// way.
//
// A replica that leads for the first time begins with its wall clock at its start, or, if it knows the
// clocks of others, with the wall clock at that time: the first may have been wrong meanwhile.
//
// A Clock may be used by one goroutine at a time.
type Clock struct {
	wall    func() time.Time
	elapsed func() time.Duration
	log     hclog.Logger
	observe func(ahead time.Duration) // see Observe.Clock; may be nil
	sure    func() bool               // see Config.Sure; may be nil

	last    int64         // nanoseconds since 1970
	at      time.Duration // the value of elapsed at last
	begun   bool          // the time was read
	drifted bool          // the difference of the clocks has been logged
}

// NewClock returns a Clock that starts with the time of wall. elapsed returns the time since a
// fixed moment; setting the machine's clock must not change it.
func NewClock(wall func() time.Time, elapsed func() time.Duration, log hclog.Logger) *Clock {
	return &Clock{wall: wall, elapsed: elapsed, log: log, last: wall().UnixNano(), at: elapsed()}
}

// Millis returns the time in milliseconds since 1970. It is at least floor: the time of the newest
// entry, whose leader's clock may have been ahead.
func (k *Clock) Millis(floor int64) int64 {
	wall, at := k.wall(), k.elapsed()
	passed := max(at-k.at, 0)
	if !k.begun && k.sure != nil && k.sure() {
		k.last, passed = wall.UnixNano(), 0
	}
	k.begun = true
	k.last, k.at = max(k.last+int64(passed), floor*int64(time.Millisecond)), at
	ahead := time.Duration(wall.UnixNano() - k.last) // of the wall clock
	if k.last < neverSet.UnixNano() && !wall.Before(neverSet) {
		k.last, ahead = wall.UnixNano(), 0 // nothing was measured by a clock that was never set
	}
	most := min(passed, slewPassed) / slewPart
	step := min(max(ahead, -most), most)
	k.last += int64(step)
	k.logDrift(ahead - step)
	return max(k.last/int64(time.Millisecond), floor)
}

// logDrift logs when a difference begins and when it ends.
func (k *Clock) logDrift(ahead time.Duration) {
	switch far := ahead.Abs(); {
	case !k.drifted && far > stepMin:
		k.drifted = true
		k.log.Warn("this machine's clock and the cluster's time differ: time follows slowly", "clock_ahead",
			ahead.Round(time.Millisecond),
			"together_in", (slewPart * far).Round(time.Second), "at_once",
			"set the clocks, restart the replicas one by one, the leader last")
	case k.drifted && far < stepMin/2:
		k.drifted = false
		k.log.Info("this machine's clock and the cluster's time are together again")
	}
	if !k.drifted {
		ahead = 0
	}
	if k.observe != nil {
		k.observe(ahead)
	}
}
