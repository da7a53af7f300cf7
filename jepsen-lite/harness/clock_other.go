//go:build !(linux && amd64)

package harness

import (
	"errors"
	"time"
)

// wallClock is not supported on this system.
type wallClock struct{}

var errNoClock = errors.New("moving one process's clock is written for linux on amd64")

func mayClock() error { return errNoClock }

func patchClock(int, bool) (*wallClock, error) { return nil, errNoClock }

func (*wallClock) run(time.Duration, int64, <-chan struct{}) error { return errNoClock }

func (*wallClock) restore(bool) error { return errNoClock }
