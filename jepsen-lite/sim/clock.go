package sim

import "time"

// clock is a machine's wall clock against true time.
type clock struct {
	since  time.Time // when it was set last
	offset time.Duration
	drift  int64 // thousandths of a second too fast in each second
}

func (c clock) at(now time.Time) time.Time {
	if c.since.IsZero() {
		return now
	}
	return now.Add(c.offset + now.Sub(c.since)*time.Duration(c.drift)/1000)
}

// wall is the time that a replica's machine shows.
func (r *replica) wall() time.Time {
	r.mu.Lock()
	c := r.clock
	r.mu.Unlock()
	return c.at(time.Now())
}

// setClock makes a machine's clock jump by some time and drift from now on.
func (r *replica) setClock(step time.Duration, drift int64) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = clock{since: now, offset: r.clock.at(now).Sub(now) + step, drift: drift}
}
