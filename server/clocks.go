package server

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"rmd/cluster"
	"rmd/internal/sleep"
)

const (
	// clockFar is the difference to the other replicas' clocks from which a clock is wrong. It is
	// far above what NTP leaves, and above what asking for a clock takes.
	clockFar = 10 * time.Second
	// clocksMin is how many clocks must be known to tell which one is wrong.
	clocksMin = 3
	// clocksFirst is the pause after the first question for the clocks. Each pause is twice as long
	// as the one before, up to clocksEvery.
	clocksFirst = 100 * time.Millisecond
	clocksEvery = time.Minute
)

// clocks compares the wall clock of this machine with those of the other replicas. A machine that
// starts with a wrong clock cannot know it alone, and if its replica leads, everything with an end
// would end at once.
type clocks struct {
	wall    func() time.Time
	elapsed func() time.Duration

	mu     sync.Mutex
	others map[string]time.Time // by id: what the other replica's clock would have shown when elapsed was 0
}

// median returns the median of the known clocks, the earlier of two, and whether it tells which
// clock is wrong.
func (c *clocks) median() (time.Time, bool) {
	all, at := []time.Time{c.wall()}, c.elapsed()
	c.mu.Lock()
	for _, zero := range c.others {
		all = append(all, zero.Add(at))
	}
	c.mu.Unlock()
	slices.SortFunc(all, time.Time.Compare)
	return all[(len(all)-1)/2], len(all) >= clocksMin
}

// ahead returns how far this machine's clock is ahead of the median, or 0 if it is right or nothing
// is known.
func (c *clocks) ahead() time.Duration {
	if m, known := c.median(); known {
		if d := c.wall().Sub(m); d.Abs() > clockFar {
			return d
		}
	}
	return 0
}

// now returns the time of this machine's clock, or the median if that clock is wrong.
func (c *clocks) now() time.Time { return c.wall().Add(-c.ahead()) }

// sure reports whether enough clocks are known to trust now.
func (c *clocks) sure() bool {
	_, known := c.median()
	return known
}

// set replaces what is known of the other replicas. Of a replica in members that is not in told,
// the earlier answer remains.
func (c *clocks) set(members []string, told map[string]time.Time) {
	at := c.elapsed()
	c.mu.Lock()
	defer c.mu.Unlock()
	others := map[string]time.Time{}
	for _, id := range members {
		if t, ok := told[id]; ok {
			others[id] = t.Add(-at)
		} else if t, ok := c.others[id]; ok {
			others[id] = t
		}
	}
	c.others = others
}

// warning says that this machine's clock is wrong, or returns "".
func (c *clocks) warning() string {
	d, side := c.ahead(), "ahead of"
	if d == 0 {
		return ""
	}
	if d < 0 {
		side = "behind"
	}
	return fmt.Sprintf("this machine's clock is %s %s the clocks of the other replicas: set it",
		d.Abs().Round(time.Second), side)
}

// watchClocks asks the other replicas for their clocks until the replica ends.
func (r *Replica) watchClocks() {
	for pause := clocksFirst; ; pause = min(2*pause, clocksEvery) {
		r.askClocks()
		if !sleep.For(r.ctx, pause) {
			return
		}
	}
}

func (r *Replica) askClocks() {
	var ids []string
	told := map[string]time.Time{}
	for _, m := range r.cluster.Members() {
		if m.ID == r.ID() {
			continue
		}
		ids = append(ids, m.ID)
		if m.State != cluster.StateAlive {
			continue
		}
		// A replica of an older version does not tell its clock.
		if a, err := r.ask(r.ctx, m.Address, question{Op: opAbout}); err == nil && a.ClockMillis != 0 {
			told[m.ID] = time.UnixMilli(a.ClockMillis)
		}
	}
	r.clocks.set(ids, told)
}
