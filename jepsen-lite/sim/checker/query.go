package checker

import (
	"fmt"
	"time"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/ledger"
	"rmd/yarn"
)

// What the simulation asks the checker, which knows the log.

// outcome is what a run has found and met.
type outcome struct {
	Violations []string
	Counts     Counts
	Achieved   map[string]int // completed operations and faults, by kind
	Lines      []history.Line
	Debt       time.Duration // the longest debt of a guarantee
}

// Outcome returns what was found and met so far.
func (c *Checker) Outcome() outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return outcome{c.faults, c.counts, c.done, c.lines, time.Duration(c.ledger.Owed().LongestMillis) * time.Millisecond}
}

// Forgive forgets the violations so far: those that a test has caused.
func (c *Checker) Forgive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// Age returns the time since the start of the run.
func (c *Checker) Age() time.Duration { return time.Since(c.begin) }

// App returns an application of the log.
func (c *Checker) App(seq uint32) (ledger.App, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.AppBySeq(seq)
}

// Submissions returns how many submissions were acknowledged.
func (c *Checker) Submissions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acks.submitted)
}

// Reservations returns how many nodes are reserved.
func (c *Checker) Reservations() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Reservations()
}

// FeatureLevel returns the highest feature level that any replica, running or not, has applied; 0
// before the first raise.
func (c *Checker) FeatureLevel() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level
}

// Entropy returns the entropy with which an AM registers.
func (c *Checker) Entropy(id yarn.AttemptID) []byte {
	return c.keys.Entropy(id, time.Now().UnixNano())
}

// Unfinished describes work that has not ended, with the application if it is one; "" if all has.
func (c *Checker) Unfinished() (what string, app uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.ledger.Apps() {
		if !a.State.Ended() {
			return fmt.Sprintf("application %+v goes on, %d reservations are held", a, c.ledger.Reservations()), a.ID.Seq
		}
	}
	if n := c.ledger.Reservations(); n > 0 {
		return fmt.Sprintf("%d reservations are held", n), 0
	}
	for _, n := range c.ledger.Nodes() {
		if n.Used != (yarn.Resource{}) {
			return fmt.Sprintf("node %s gives %s to nobody", n.ID, n.Used), 0
		}
	}
	return idleQueues(c.ledger), 0
}

// IdleQueues describes a queue that should have been removed or should have lost its capacity; "" if
// there is none.
func (c *Checker) IdleQueues() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return idleQueues(c.ledger)
}

// idleQueues describes a dynamic queue that should have been removed, or a leaf of a managed parent
// that should have lost its capacity; "" if there is none.
func idleQueues(l *ledger.Ledger) string {
	for _, q := range l.DynamicQueues() {
		switch {
		case !q.Managed:
			return fmt.Sprintf("dynamic queue %s has %d applications and is not removed", q.Path, q.Apps)
		case q.Active && q.Apps == 0:
			return fmt.Sprintf("leaf %s of a managed parent keeps its capacity without applications", q.Path)
		}
	}
	return ""
}
