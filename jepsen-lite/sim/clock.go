package sim

import "time"

// clock says how a machine's wall clock differs from true time.
type clock struct {
	since  time.Time // last change of the clock
	offset time.Duration
	drift  int64 // milliseconds that the clock gains per second
}

func (c clock) at(now time.Time) time.Time {
	if c.since.IsZero() {
		return now
	}
	return now.Add(c.offset + now.Sub(c.since)*time.Duration(c.drift)/1000)
}

// wall returns the time on the clock of a replica's machine.
func (r *replica) wall() time.Time {
	r.mu.Lock()
	c := r.clock
	r.mu.Unlock()
	return c.at(time.Now())
}

// setClock advances a machine's clock by step and sets its drift.
func (r *replica) setClock(step time.Duration, drift int64) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = clock{since: now, offset: r.clock.at(now).Sub(now) + step, drift: drift}
}
