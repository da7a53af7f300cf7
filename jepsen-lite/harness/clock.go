package harness

import (
	"fmt"
	"time"
)

// clockStep is how often a drifting clock is set again.
const clockStep = 10 * time.Millisecond

// MoveClock moves the wall clock of the running process by a step, and lets it run
// too fast by so many thousandths from then on. Its timers go on as before, as on
// a machine whose clock is set.
func (r *Replica) MoveClock(step time.Duration, drift int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running() {
		return fmt.Errorf("move the clock of %s: %w", r.ID, ErrNotRunning)
	}
	if r.clock == nil {
		c, err := patchClock(r.cmd.Process.Pid, r.paused)
		if err != nil {
			return fmt.Errorf("move the clock of %s: %w", r.ID, err)
		}
		r.clock = c
	}
	return r.clock.run(step, drift, r.ended)
}

// RightClock gives the process its machine's clock again. It is no error when the
// process has ended meanwhile.
func (r *Replica) RightClock() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clock
	r.clock = nil
	if c == nil || !r.running() {
		return nil
	}
	return c.restore(r.paused)
}
