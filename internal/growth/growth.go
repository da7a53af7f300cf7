// Package growth helps tests that check how the time of an algorithm grows with its input. To compare
// two measured times fails on a busy machine. A test uses an input so large instead that the right
// algorithm needs about a second, and one that is quadratic many minutes.
package growth

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

const limit = time.Minute

// InTime runs work. If this process uses more than a minute of processor time meanwhile, InTime ends it
// with a panic, as go test does at its own limit. Other processes on the machine do not count.
func InTime(t testing.TB, what string, work func()) {
	began, done := ProcessorTime(), make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Second):
				if ProcessorTime()-began > limit {
					panic(fmt.Sprintf("%s: %s took more than %s", t.Name(), what, limit))
				}
			}
		}
	}()
	work()
}

// ProcessorTime returns the user and system time that this process has used.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for another first argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
