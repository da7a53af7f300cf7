package sim

import (
	"time"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// What callers are told of containers that are to end for others, and what becomes of it.

// toldWarning is a warning of which an AM was told.
type toldWarning struct {
	attempt  yarn.AttemptID // that was told
	of       yarn.ContainerID
	deadline int64
}

// warningAnswer is how an AM heard of a warning.
type warningAnswer struct {
	again    int
	response int32
}

// ackedWarnings holds that each warning of which an AM is told is in the log, and is told once: S19.
func (c *checker) ackedWarnings(id string, in *input.Allocate, r *input.AllocateReply) {
	for _, p := range r.Preempted {
		if k, ok := c.ledger.ContainerByRef(refOf(p.Container)); !ok || k.Size != p.Size || !c.ledger.Warned(p.Container, p.DeadlineMillis) {
			c.bad("S19: %s tells %s that %s of %s is to end at %d, the ledger has %+v", id, in.Attempt, p.Container, p.Size, p.DeadlineMillis, k)
		}
		c.counts.told++
		w, now := toldWarning{in.Attempt, p.Container, p.DeadlineMillis}, warningAnswer{c.acks.again[in.Attempt], r.Response}
		if before, ok := c.acks.told[w]; ok && before.again == now.again && before != now {
			c.bad("S19: that %s is to end at %d is told with response %d and again with %d", p.Container, p.DeadlineMillis, before.response, r.Response)
		}
		c.acks.told[w] = now
	}
}

// ackedMove notes the queue that a submission is in, once an answer has told of a move.
func (c *checker) ackedMove(in *input.MoveApplication) {
	if s, ok := c.acks.submitted[in.ID]; ok {
		s.queue = "root." + in.Queue
		c.acks.submitted[in.ID] = s
	}
}

// overdue is how long after its deadline a warning may stand in the calm: it is judged in the next
// round.
const overdue = 30 * time.Second

// overdue holds that no warning stands for ever: L6.
func (c *checker) overdue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.ledger.Overdue(overdue.Milliseconds()) {
		c.bad("L6: %s after its deadline a warning stands: %s", overdue, s.Text)
	}
}
