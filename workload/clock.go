package workload

import "time"

// Clock tells the time and wakes.
type Clock interface {
	Now() time.Time
	// Timer gives a channel that gets one value after d, and a function that gives the timer up.
	Timer(d time.Duration) (<-chan time.Time, func())
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// Timer implements Clock.
func (SystemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
