package replay

import (
	"slices"

	"rmd/analysis/rerun"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/input"
	"rmd/scheduler/preemption"
	"rmd/workload/report"
	"rmd/yarn"
)

// tally counts the costs and benefits of preemption. It uses only the inputs of a planner and what
// they change, so it measures all selectors in the same way.
type tally struct {
	*rerun.Cluster
	counts report.Preemption

	waiting map[asker]*waits
	waited  []int64 // completed waits of owed containers, in milliseconds

	ahead    *state.State              // the state before a preemption round, if the round may end containers
	entitled []bool                    // queues that were owed resources at that time
	freed    map[state.NodeSlot][]room // by node

	since int64   // of kept, in Unix milliseconds
	kept  float64 // the share of the cluster that is free and kept for guarantees while others wait
}

// room is the resources of a preempted container.
type room struct {
	container event.ContainerRef
	free      bool // the container has ended on its node
	size      yarn.Resource
	leaf      int32
	entitled  []bool // queues that were owed resources when it was preempted
}

// newTally returns a tally of what a cluster does from now on.
func newTally(c *rerun.Cluster) *tally {
	t := &tally{Cluster: c, waiting: map[asker]*waits{}, freed: map[state.NodeSlot][]room{}}
	c.Before, c.After = t.before, t.after
	return t
}

// before reads an input before it is planned. Before a round that may end containers, it also keeps
// the state.
func (t *tally) before(in input.Input) {
	t.ahead = nil
	t.counts.KeptClusterSeconds += t.kept * float64(t.Now-t.since) / 1000
	t.since = t.Now
	switch in := in.(type) {
	case *input.Allocate:
		t.asked(t.Now, in)
	case *input.PreemptionRound:
		if st := t.State(); st.Preemptions.Len() > 0 {
			t.ahead, t.entitled = st.Fork(), t.entitledQueues()
		}
	}
}

// after counts what an input has changed.
func (t *tally) after(in input.Input, reply input.Reply, _ []event.Event) {
	now, changes := t.Now, t.Changes()
	if r, ok := reply.(*input.SubmitApplicationReply); ok && r.Refused() == nil {
		t.submitted(now, in.(*input.SubmitApplication), r.ID)
	}
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case change.WarningBegun:
			t.counts.Warned++
		case change.WarningEnded:
			if c.Withdrawn != 0 {
				t.counts.Withdrawn++
			}
		case change.ContainerEnded:
			t.ended(now, c.Ref, c.Exit)
		case change.ContainerStarted:
			t.granted(now, c)
		}
		if c.Left {
			t.freeing(c.Ref)
		}
	}
	t.forgetTaken()
	t.kept = t.keptIdle()
}

// keptIdle returns the share of the cluster that is free and kept for guarantees while others wait.
func (t *tally) keptIdle() float64 {
	st, v := t.State(), t.Scheduler().In(0, false)
	if st.Kept.Len() == 0 || v.Queue(0).Pending.IsZero() {
		return 0
	}
	kinds := st.Versions.Kinds()
	return rerun.Resource(kinds, v.Kept(t.Now)).DominantShare(rerun.Resource(kinds, st.Meta.Cluster))
}

// entitledQueues reports for each queue whether the queue has pending asks and less than its
// entitlement.
func (t *tally) entitledQueues() []bool {
	cfg, p := t.Config(), preemption.PartitionOf(t.Scheduler().Views, 0)
	shares := p.Entitlements(&cfg.Preemption, entitlement.Mode{Reserved: true})
	out := make([]bool, len(p.Queues))
	for i := range p.Queues {
		q := &p.Queues[i]
		owed := yarn.ComponentMax(shares[i].Ideal, q.Guaranteed)
		out[i] = q.Leaf && !q.Pending.IsZero() && cfg.Calculator.Compare(p.Total, q.Used.Sub(q.Reserved), owed) < 0
	}
	return out
}

// ended counts a container that a preemption round has ended: a preempted container, or a container
// whose AM was preempted.
func (t *tally) ended(now int64, ref event.ContainerRef, exit int32) {
	if t.ahead == nil {
		return
	}
	slot := t.ahead.Container(ref)
	if slot == 0 || !t.ahead.Containers.Get(slot).State.Live() {
		return
	}
	c, kinds := t.ahead.Containers.Get(slot), t.ahead.Versions.Kinds()
	t.counts.Killed++
	if c.AM {
		t.counts.AMs++
	}
	t.counts.Lost.Add(rerun.Resource(kinds, c.Size), rerun.Resource(kinds, t.ahead.Meta.Cluster), now-c.AllocatedMillis)
	if exit == yarn.ExitPreempted {
		t.counts.Unused++ // until another container uses the resources
		t.freed[c.Node] = append(t.freed[c.Node], room{ref, false, c.Size, t.leafOf(t.ahead.Apps.Get(c.App)), t.entitled})
	}
}

// freeing records that a preempted container has ended on its node.
func (t *tally) freeing(ref event.ContainerRef) {
	for _, left := range t.freed {
		if i := slices.IndexFunc(left, func(r room) bool { return r.container == ref }); i >= 0 {
			left[i].free = true
		}
	}
}

// granted ends a wait. If the container belongs to another queue, which was owed resources when
// containers were preempted on its node, it uses the resources of those containers, the earliest
// first.
func (t *tally) granted(now int64, c *change.Change) {
	t.served(now, asker{app: c.Ref.App, am: c.AM, key: c.Key})
	left := t.freed[c.Node]
	if len(left) == 0 {
		return
	}
	st, calc := t.State(), t.Config().Calculator
	leaf := t.leafOf(st.Apps.Get(c.App))
	size := st.Containers.Get(st.Container(c.Ref)).Size
	t.freed[c.Node] = slices.DeleteFunc(left, func(r room) bool {
		uses := calc.AnyAboveZero(size) && r.entitled[leaf] && r.leaf != leaf
		if uses {
			t.counts.Unused--
			size = size.Sub(r.size)
		}
		return uses
	})
}

// forgetTaken forgets rooms that other containers use by now.
func (t *tally) forgetTaken() {
	st, calc := t.State(), t.Config().Calculator
	for node, left := range t.freed {
		unallocated := st.Nodes.Get(node).Unallocated()
		left = slices.DeleteFunc(left, func(r room) bool {
			if !r.free {
				return false
			}
			unallocated = unallocated.Sub(r.size)
			return !calc.FitsIn(yarn.Resource{}, unallocated)
		})
		if t.freed[node] = left; len(left) == 0 {
			delete(t.freed, node)
		}
	}
}

func (t *tally) leafOf(a *state.App) int32 { return t.Scheduler().LeafOf(a) }

// summary returns the tally at the end. A wait that has not ended counts with its duration so far.
func (t *tally) summary(selector string, endMillis int64) report.Preemption {
	out, millis := t.counts, slices.Clone(t.waited)
	st := t.State()
	for k, w := range t.waiting {
		if slot := st.Apps.Find(k.app); slot != 0 && st.Apps.Get(slot).Open() {
			millis = w.soFar(millis, rerun.Epoch+endMillis)
		}
	}
	out.Selector, out.EndMillis = selector, endMillis
	out.Owed = report.WaitsOf(millis, len(millis)-len(t.waited))
	return out
}
