package harness

import (
	"fmt"
	"time"
)

// clockStep is the interval at which a drifting clock is set.
const clockStep = 10 * time.Millisecond

// MoveClock moves the wall clock of the running process by step. From then on, the clock gains
// drift thousandths. Timers in the process are not affected, as on a machine whose clock is set.
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

// RightClock removes the offset and the drift. It returns no error if the process has ended.
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
