package checker

import (
	"slices"
	"time"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// toldWarning is a warning that an AM has received since it registered last.
type toldWarning struct {
	attempt  yarn.AttemptID // the attempt that received it
	again    int            // how often the attempt had registered again
	of       yarn.ContainerID
	deadline int64
}

// ackedWarnings checks that each warning in an answer is in the log, and that an AM receives it
// once (S19).
func (c *Checker) ackedWarnings(id string, in *input.Allocate, r *input.AllocateReply) {
	for _, p := range r.Preempted {
		if k, ok := c.ledger.ContainerByRef(refOf(p.Container)); !ok || k.Size != p.Size ||
			c.ledger.Warned(p.Container, p.DeadlineMillis) == 0 {
			c.violate("S19: %s tells %s that %s of %s is to end at %d, the ledger has %+v", id, in.Attempt, p.Container, p.Size,
				p.DeadlineMillis, k)
		}
		c.counts.Told++
		w := toldWarning{in.Attempt, c.acks.again[in.Attempt], p.Container, p.DeadlineMillis}
		if slices.Contains(c.acks.told[w], r.Response) {
			continue // the same answer again
		}
		c.acks.told[w] = append(c.acks.told[w], r.Response)
		if n := c.ledger.Warned(p.Container, p.DeadlineMillis); len(c.acks.told[w]) > n {
			c.violate("S19: that %s is to end at %d is told with the responses %v, and it was warned %d times", p.Container,
				p.DeadlineMillis, c.acks.told[w], n)
		}
	}
}

// ackedMove records the queue of an application after a move was acknowledged.
func (c *Checker) ackedMove(in *input.MoveApplication) {
	if s, ok := c.acks.submitted[in.ID]; ok {
		s.queue = "root." + in.Queue
		c.acks.submitted[in.ID] = s
	}
}

// WarningMax is how long after its deadline a warning may remain in the calm. The next preemption
// round executes or withdraws it.
const WarningMax = 30 * time.Second

// Overdue checks that no warning remains long after its deadline (L6).
func (c *Checker) Overdue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.ledger.Overdue(WarningMax.Milliseconds()) {
		c.violate("L6: %s after its deadline a warning stands: %s", WarningMax, s.Text)
	}
}
