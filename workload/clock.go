package workload

import "time"

// Clock is a source of time and timers.
type Clock interface {
	Now() time.Time
	// Timer returns a channel that receives one value after d, and a function that stops the timer.
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
