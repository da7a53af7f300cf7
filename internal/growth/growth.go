// Package growth helps tests that check how the time of an algorithm grows with its input. To compare
// two measured times fails on a busy machine. A test uses an input so large instead that the right
// algorithm needs about a second, and one that is quadratic many minutes.
package growth

import (
	"fmt"
	"testing"
	"time"
)

const limit = time.Minute

// InTime runs work. If work takes more than a minute, InTime ends the test binary with a panic, as
// go test does at its own limit.
func InTime(t testing.TB, what string, work func()) {
	late := time.AfterFunc(limit, func() { panic(fmt.Sprintf("%s: %s took more than %s", t.Name(), what, limit)) })
	defer late.Stop()
	work()
}
