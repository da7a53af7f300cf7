package planner

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestRandomPreemption runs preemption rounds while queues use more than their guarantee.
func TestRandomPreemption(t *testing.T) {
	randomStories(t, false, (*machine).preemptingActions)
}

// TestQuietPreemption checks that the application for which containers are preempted gets their
// room if nothing else happens.
func TestQuietPreemption(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, false)
		m.preempt(t)
		for range 12 {
			m.submit(t)
			m.ask(t)
			m.beat(nil)
		}
		for range 40 {
			m.now += 3000
			m.plan(&input.PreemptionRound{})
			m.beat(func(k *state.Container) bool { return k.State == yarn.ContainerReleasing })
		}
		for number, containers := range m.killed { // the order is harmless
			if containers > 0 {
				m.fail("%d containers were preempted for r%d, which was not fulfilled", containers, number)
			}
		}
	})
}

func (m *machine) preemptingActions() map[string]func(*rapid.T) {
	m.preempt(m.t)
	for range 4 {
		m.submit(m.t)
	}
	a := map[string]func(*rapid.T){
		"cancel": m.cancel, "blacklist": m.blacklist, "move": m.move, "priority": m.priority, "resize": m.resize,
		"end": m.end, "submit": m.submit,
		"runAM": m.runAM, "drain": m.drain, "registerNode": m.registerNode, "nodeGone": m.nodeGone, "unhealthy": m.unhealthy,
	}
	maps.Copy(a, m.masterActions())
	for i := range 12 {
		a[fmt.Sprintf("heartbeat%d", i)] = m.heartbeat
		a[fmt.Sprintf("ask%d", i/2)] = m.ask
		a[fmt.Sprintf("round%d", i/2)] = m.preemptionRound
	}
	return a
}

// preempt switches preemption on, with a random configuration.
func (m *machine) preempt(t *rapid.T) {
	m.variant = 3
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	props := append(m.properties(),
		input.Property{Name: "yarn.resourcemanager.scheduler.monitor.enable", Value: "true"},
		input.Property{Name: confPrefix + "preemption.reservation-wait-ms", Value: "0"},
		input.Property{Name: confPrefix + "preemption.max-lost-work-ms",
			Value: rapid.SampledFrom([]string{"-1", "0", "10000"}).Draw(t, "most")},
		input.Property{Name: confPrefix + "preemption.keep-guarantee-ms",
			Value: rapid.SampledFrom([]string{"0", "60000"}).Draw(t, "keep")},
		input.Property{Name: monitor + "total_preemption_per_round", Value: "1"},
		input.Property{Name: monitor + "natural_termination_factor",
			Value: rapid.SampledFrom([]string{"1", "0.5"}).Draw(t, "natural")},
		input.Property{Name: monitor + "conservative-drf", Value: fmt.Sprint(rapid.Bool().Draw(t, "conservative"))},
		input.Property{Name: confPrefix + "root.b.disable_preemption",
			Value: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "disabled") == 0)})
	const balance, underutilized = monitor + "preemption-to-balance-queue-after-satisfied.",
		confPrefix + "ordering-policy.priority-utilization.underutilized-preemption."
	if rapid.Bool().Draw(t, "balance") {
		props = append(props, input.Property{Name: balance + "enabled", Value: "true"},
			input.Property{Name: balance + "max-wait-before-kill", Value: "20000"})
	}
	if rapid.Bool().Draw(t, "ranked") {
		props = append(props, input.Property{Name: underutilized + "enabled", Value: "true"},
			input.Property{Name: underutilized + "reserved-container-delay-ms", Value: "3000"},
			input.Property{Name: underutilized + "allow-move-reservation", Value: fmt.Sprint(rapid.Bool().Draw(t, "moves"))},
			input.Property{Name: confPrefix + "root.ordering-policy", Value: "priority-utilization"},
			input.Property{Name: confPrefix + "root." + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "ranks") + ".priority",
				Value: "1"})
	}
	if f := m.plan(&input.SetQueues{Properties: props}).Refused(); f != nil {
		m.fail("configuration: %v", f)
	}
}

func (m *machine) preemptionRound(t *rapid.T) {
	m.now += rapid.SampledFrom([]int64{3000, 0, 15_000}).Draw(t, "later")
	m.plan(&input.PreemptionRound{})
}

// beat sends a heartbeat of every node. The chosen containers end.
func (m *machine) beat(ends func(*state.Container) bool) {
	for _, id := range m.nodes {
		in := &input.NodeHeartbeat{ID: id}
		for _, c := range containersOn(m.p, m.p.st.Nodes.Find(id)) {
			k := m.p.st.Containers.Get(c)
			s := input.ContainerStatus{Container: m.p.st.Apps.ContainerID(k), State: yarn.ContainerRunning}
			if ends != nil && ends(k) {
				s.State = yarn.ContainerCompleted
			}
			in.Statuses = append(in.Statuses, s)
		}
		m.plan(in)
	}
}

// checkPreempted compares what an input does to warned containers with the state before: only a
// round preempts, only after the deadline, and it frees enough room for the reservation. No queue
// falls below its guarantee.
func (m *machine) checkPreempted(before *state.State, events []event.Event) {
	if m.mixed {
		return
	}
	for _, e := range events {
		switch e := e.(type) {
		case *event.ContainerReleased:
			m.preempted(before, e.Container, e.ExitStatus)
		case *event.ContainerCompleted:
			m.preempted(before, e.Container, e.ExitStatus)
		case *event.PreemptionAsked:
			if e.Cause != yarn.PreemptLease {
				m.warned(before, e)
			}
		case *event.ReservationFulfilled:
			delete(m.killed, e.Reservation)
		case *event.ReservationCancelled:
			delete(m.killed, e.Reservation)
		}
	}
}

// recalled reports whether a container had to give back a lease.
func (m *machine) recalled(before *state.State, slot state.ContainerSlot, ref event.ContainerRef) bool {
	if slot != 0 && before.Preemptions.Has(slot) && before.Preemptions.Get(slot).Cause == yarn.PreemptLease {
		return true
	}
	return slices.ContainsFunc(m.events, func(e event.Event) bool {
		w, ok := e.(*event.PreemptionAsked)
		return ok && w.Cause == yarn.PreemptLease && w.Container == ref
	})
}

func (m *machine) preempted(before *state.State, ref event.ContainerRef, exit int32) {
	slot := before.Container(ref)
	if m.recalled(before, slot, ref) {
		return
	}
	if exit != yarn.ExitPreempted || slot == 0 || !before.Containers.Get(slot).State.Live() {
		return
	}
	if !before.Preemptions.Has(slot) || !m.round {
		m.fail("41: container %+v is preempted without a warning, or by no round", ref)
	}
	w := before.Preemptions.Get(slot)
	if w.DeadlineMillis > m.now {
		m.fail("41: container %+v is preempted %d ms before its deadline", ref, w.DeadlineMillis-m.now)
	}
	if w.Cause == yarn.PreemptQueuePriority {
		m.outranked(before, before.Containers.Get(slot), w.Queue)
	} else {
		m.keeps(before, before.Containers.Get(slot),
			m.ranked(before, before.Apps.Get(before.Containers.Get(slot).App).Queue).Add(
				m.p.st.Queues.Get(before.Apps.Get(before.Containers.Get(slot).App).Queue).Used))
	}
	m.killed[w.Reservation]++
	if r := m.p.st.Reservations.Find(w.Reservation); r != 0 { // else an eager pass has already fulfilled it
		if res := m.p.st.Reservations.Get(r); !m.p.Config().Calculator.FitsIn(res.Size, m.roomOn(res.Node)) {
			m.fail("r%d of %v lacks room though containers were preempted for it", res.Number, res.Size)
		}
	}
}

func (m *machine) roomOn(node state.NodeSlot) yarn.Resource {
	room := m.p.st.Nodes.Get(node).Unallocated()
	for slot, c := range m.p.st.Containers.On(m.p.st.Nodes.Get(node)) {
		if !c.State.Live() || m.p.st.Leases.Has(slot) {
			room = room.Add(c.Size)
		}
	}
	return room
}

// warned checks that the queue of a warned container uses more than its guarantee in some kind of
// resource, and keeps its guarantee after all warned containers have ended.
func (m *machine) warned(before *state.State, e *event.PreemptionAsked) {
	st := m.p.st
	victim := before.Containers.Get(before.Container(e.Container))
	queue := before.Apps.Get(victim.App).Queue
	cfg := m.p.Config()
	wait := cfg.Preemption.MaxWaitMillis
	switch e.Cause {
	case yarn.PreemptQueuePriority:
		m.outranked(before, victim, e.Queue)
	case yarn.PreemptBalance:
		wait = cfg.Preemption.BalanceMaxWaitMillis
		fallthrough
	default:
		// preemption for a priority may take more than that
		m.keeps(before, victim, st.Queues.Get(queue).Used.Sub(m.askedOf(st, queue, yarn.PreemptQueuePriority)))
	}
	if e.DeadlineMillis != m.now+wait {
		m.fail("41: %+v has %d ms for cause %s, configured are %d", e.Container, e.DeadlineMillis-m.now, e.Cause, wait)
	}
	if i := must(cfg.Lookup(before.Queues.Get(queue).Path)); cfg.Queues[i].DisablePreemption {
		m.fail("41: %s has preemption disabled and is to give %+v", cfg.Queues[i].Path, e.Container)
	}
}

// outranked checks a container that ends for a queue of higher priority: the container is not an
// AM, its own queue has a lower priority, and the other queue has less than its guarantee.
func (m *machine) outranked(before *state.State, victim *state.Container, path string) {
	cfg := m.p.Config()
	below := func(path string) *capacity.Queue { // the queue's ancestor below root
		q := &cfg.Queues[must(cfg.Lookup(path))]
		for cfg.Queues[q.Parent].Parent >= 0 {
			q = &cfg.Queues[q.Parent]
		}
		return q
	}
	own := before.Queues.Get(before.Apps.Get(victim.App).Queue).Path
	if victim.AM || below(path).Priority <= below(own).Priority || !cfg.Preemption.QueuePriority.Enabled {
		m.fail("41: %v of %s (AM: %v) is to end for the priority of %s", before.Apps.ContainerID(victim), own,
			victim.AM, path)
	}
	i := must(cfg.Lookup(path))
	var q *state.Queue
	before.Queues.Each(func(_ state.QueueSlot, k *state.Queue) bool {
		if k.Path == path {
			q = k
		}
		return q == nil
	})
	if has, keep := q.Used.Sub(q.Reserved), cfg.Compute(m.p.st.Meta.Cluster).Capacities[i].EffMin; cfg.Calculator.Compare(
		m.p.st.Meta.Cluster, has, keep) >= 0 {
		m.fail("41: %s has %v of the %v that it is guaranteed, and takes %v by priority", path, has, keep,
			before.Apps.ContainerID(victim))
	}
}

// ranked sums what a queue has lost by priority in this batch. Preemption for other causes may
// still take as much as before.
func (m *machine) ranked(before *state.State, queue state.QueueSlot) (sum yarn.Resource) {
	for _, e := range m.events {
		e, ok := e.(*event.ContainerReleased)
		if !ok || e.ExitStatus != yarn.ExitPreempted {
			continue
		}
		slot := before.Container(e.Container)
		if slot == 0 || !before.Preemptions.Has(slot) || before.Preemptions.Get(slot).Cause != yarn.PreemptQueuePriority {
			continue
		}
		if c := before.Containers.Get(slot); before.Apps.Get(c.App).Queue == queue {
			sum = sum.Add(c.Size)
		}
	}
	return sum
}

// keeps checks that the victim's queue used more than its guarantee, and has its guarantee with
// what is left.
func (m *machine) keeps(before *state.State, victim *state.Container, left yarn.Resource) {
	cfg, cluster := m.p.Config(), m.p.st.Meta.Cluster
	q := before.Queues.Get(before.Apps.Get(victim.App).Queue)
	i := must(cfg.Lookup(q.Path))
	keep := cfg.Calculator.Min(cluster, q.Used.Add(q.Pending), cfg.Compute(cluster).Capacities[i].EffMin)
	kinds := 1
	if m.dominant {
		kinds = m.kinds
	}
	tooMuch := false
	for k := range kinds {
		tooMuch = tooMuch || q.Used[k] > keep[k]
		if q.Used[k] >= keep[k] && left[k] < keep[k] {
			m.fail("41: %s keeps %v of the %v that it is guaranteed when %v has ended", q.Path, left, keep,
				before.Apps.ContainerID(victim))
		}
	}
	if !tooMuch {
		m.fail("41: %s uses %v of the %v that it is guaranteed and is to give %v", q.Path, q.Used, keep,
			before.Apps.ContainerID(victim))
	}
}

// askedOf sums what rounds have asked to end in a queue and its descendants, except for the given
// causes.
func (m *machine) askedOf(st *state.State, queue state.QueueSlot,
	without ...yarn.PreemptionCause) (asked yarn.Resource) {
	st.Preemptions.Each(func(slot state.ContainerSlot, p *state.Preemption) bool {
		if p.Cause == yarn.PreemptLease || slices.Contains(without, p.Cause) {
			return true
		}
		c := st.Containers.Get(slot)
		for q := st.Apps.Get(c.App).Queue; q != 0; q = st.Queues.Get(q).Parent {
			if q == queue {
				asked = asked.Add(c.Size)
			}
		}
		return true
	})
	return asked
}

// asked sums what rounds have asked to end in a queue and its descendants before this event, or
// anywhere in the same batch. An eager pass in the batch may have withdrawn a warning.
func (w *walk) asked(queue state.QueueSlot) (asked yarn.Resource) {
	if !w.m.round {
		return asked
	}
	asked = w.m.askedOf(w.st, queue)
	for _, e := range w.m.events {
		e, ok := e.(*event.PreemptionAsked)
		if !ok || e.Cause == yarn.PreemptLease {
			continue
		}
		slot := w.st.Container(e.Container)
		if slot == 0 || w.st.Preemptions.Has(slot) {
			continue
		}
		c := w.st.Containers.Get(slot)
		for q := w.st.Apps.Get(c.App).Queue; q != 0; q = w.st.Queues.Get(q).Parent {
			if q == queue {
				asked = asked.Add(c.Size)
			}
		}
	}
	return asked
}
