package sim

import (
	"slices"
	"strconv"
	"time"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// The settings of preemption, and the checks of its warnings.

// preemptionOf sets the properties of preemption. The waits are short, because a run takes minutes.
func (w *world) preemptionOf(queues []queue, set func(k, v string)) {
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	set("yarn.resourcemanager.scheduler.monitor.enable", "true")
	set(monitor+"monitoring_interval", "1000")
	set(monitor+"max_wait_before_kill", "2000")
	set(monitor+"max_ignored_over_capacity", "0")
	set(monitor+"total_preemption_per_round", "1")
	set(monitor+"natural_termination_factor", "1")
	if w.opt.selector != "" {
		set(prefix+"preemption.selector", w.opt.selector)
		set(monitor+"intra-queue-preemption.enabled", "true")
		set(monitor+"intra-queue-preemption.max-allowable-limit", "1")
	}
	if !w.opt.ranked {
		return
	}
	const underutilized = prefix + "ordering-policy.priority-utilization.underutilized-preemption."
	set(prefix+"root.ordering-policy", "priority-utilization")
	for i, q := range queues {
		set(prefix+"root."+q.name+".priority", strconv.Itoa(i))
	}
	set(underutilized+"enabled", "true")
	set(underutilized+"reserved-container-delay-ms", "1000")
	set(underutilized+"allow-move-reservation", "true")
	const balance = monitor + "preemption-to-balance-queue-after-satisfied."
	set(balance+"enabled", "true")
	set(balance+"max-wait-before-kill", "3000")
}

// toldWarning is a warning that an AM has received since it registered last.
type toldWarning struct {
	attempt  yarn.AttemptID // the attempt that received it
	again    int            // how often the attempt had registered again
	of       yarn.ContainerID
	deadline int64
}

// ackedWarnings checks that each warning in an answer is in the log, and that an AM receives it
// once (S19).
func (c *checker) ackedWarnings(id string, in *input.Allocate, r *input.AllocateReply) {
	for _, p := range r.Preempted {
		if k, ok := c.ledger.ContainerByRef(refOf(p.Container)); !ok || k.Size != p.Size || c.ledger.Warned(p.Container, p.DeadlineMillis) == 0 {
			c.violate("S19: %s tells %s that %s of %s is to end at %d, the ledger has %+v", id, in.Attempt, p.Container, p.Size, p.DeadlineMillis, k)
		}
		c.counts.told++
		w := toldWarning{in.Attempt, c.acks.again[in.Attempt], p.Container, p.DeadlineMillis}
		if slices.Contains(c.acks.told[w], r.Response) {
			continue // the same answer again
		}
		c.acks.told[w] = append(c.acks.told[w], r.Response)
		if n := c.ledger.Warned(p.Container, p.DeadlineMillis); len(c.acks.told[w]) > n {
			c.violate("S19: that %s is to end at %d is told with the responses %v, and it was warned %d times", p.Container, p.DeadlineMillis, c.acks.told[w], n)
		}
	}
}

// ackedMove records the queue of an application after a move was acknowledged.
func (c *checker) ackedMove(in *input.MoveApplication) {
	if s, ok := c.acks.submitted[in.ID]; ok {
		s.queue = "root." + in.Queue
		c.acks.submitted[in.ID] = s
	}
}

// overdue is how long after its deadline a warning may remain in the calm. The next preemption
// round executes or withdraws it.
const overdue = 30 * time.Second

// overdue checks that no warning remains long after its deadline (L6).
func (c *checker) overdue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.ledger.Overdue(overdue.Milliseconds()) {
		c.violate("L6: %s after its deadline a warning stands: %s", overdue, s.Text)
	}
}
