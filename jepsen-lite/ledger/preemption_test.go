package ledger

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// preemption returns a configuration that preempts after 10 s. The guarantee of a is a quarter of
// the cluster, that of b is the rest.
func preemption(version uint64, more ...event.Property) *event.QueuesConfigured {
	e := configuration(version, "100")
	for _, p := range [][2]string{{"yarn.resourcemanager.scheduler.monitor.enable", "true"},
		{"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill", "10000"},
		{"yarn.scheduler.capacity.root.a.capacity", "25"}, {"yarn.scheduler.capacity.root.b.capacity", "75"}} {
		e.Properties = append(e.Properties, event.Property{Name: p[0], Value: p[1]})
	}
	e.Properties = append(e.Properties, more...)
	return e
}

// yarnSelector selects the selector "yarn", which makes no reservations.
var yarnSelector = event.Property{Name: "yarn.scheduler.capacity.preemption.selector", Value: "yarn"}

// movingReservations lets reservations move to nodes with containers of a lower priority.
var movingReservations = event.Property{
	Name:  "yarn.scheduler.capacity.ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation",
	Value: "true"}

// queuePriorities lets queues take from queues of a lower priority.
var queuePriorities = event.Property{
	Name: "yarn.scheduler.capacity.ordering-policy.priority-utilization.underutilized-preemption.enabled", Value: "true"}

// borrowed starts a log in which application 1 of a uses the whole cluster, four times the
// guarantee of a. Application 2 of b asks for most of a node.
func borrowed(t *testing.T) *logbook {
	l := begin(t)
	l.entry(preemption(2))
	l.entry(want(1, yarn.NewResource(4096, 1), 4))
	l.entry(give(1, 1, 1), give(1, 2, 1), give(1, 3, 2), give(1, 4, 2))
	l.app(2, "root.b")
	l.entry(want(2, large, 1))
	l.entry(&event.TimeAdvanced{NowMillis: 1000})
	return l
}

func warn(app uint32, number uint64, reservation uint64, deadline int64) *event.PreemptionAsked {
	return &event.PreemptionAsked{Container: ref(app, number), Reservation: reservation, Queue: "root.b",
		Cause: yarn.PreemptGuarantee, DeadlineMillis: deadline}
}

func preempt(app uint32, number uint64) *event.ContainerReleased {
	return &event.ContainerReleased{Container: ref(app, number), ExitStatus: yarn.ExitPreempted}
}

// reserve reserves node 1 for application 2 and warns the containers there.
func (l *logbook) reserve() {
	l.entry(hold(1, 2, 1, 1), warn(1, 1, 1, 11_000), warn(1, 2, 1, 11_000))
}

// TestPreemption follows warnings that are withdrawn and others that are executed.
func TestPreemption(t *testing.T) {
	l := borrowed(t)
	l.reserve()
	l.legal()
	if w, ok := l.m.Warning(ref(1, 2)); !ok || w != (Warning{1, "root.b", 11_000}) || l.m.Warnings() != 2 {
		t.Errorf("%+v of %d", w, l.m.Warnings())
	}
	l.entry(&event.PreemptionWithdrawn{Container: ref(1, 1), Cause: yarn.WithdrawNotChosen})
	l.entry(&event.TimeAdvanced{NowMillis: 2000}, warn(1, 1, 1, 12_000))
	l.entry(&event.TimeAdvanced{NowMillis: 12_000}, preempt(1, 1), preempt(1, 2))
	l.entry(&event.ContainerCompleted{Container: ref(1, 1), ExitStatus: yarn.ExitPreempted},
		&event.ContainerCompleted{Container: ref(1, 2), ExitStatus: yarn.ExitPreempted})
	l.entry(&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	// ends by itself
	l.entry(want(2, large, 1), hold(2, 2, 2, 2), warn(1, 3, 2, 22_000), &event.ContainerCompleted{Container: ref(1, 3)})
	l.legal()
	id := yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: 1780000000000, Seq: 1}, Attempt: 1, Number: 1}
	if l.m.Warned(id, 11_000) != 1 || l.m.Warned(id, 12_000) != 1 || l.m.Warned(id, 13_000) != 0 || l.m.Warnings() != 0 {
		t.Errorf("it was warned until 11 and 12 s; %d warnings stand", l.m.Warnings())
	}
	if c := l.m.Counts; c.Warned != 4 || c.Withdrawn != 1 || c.Preempted != 2 {
		t.Errorf("counts %+v, want 4 warned, 1 withdrawn, 2 preempted", c)
	}
}

// TestReservationOnNodeSoonFree checks that a reservation of a full node needs no warning if
// released containers will end there soon.
func TestReservationOnNodeSoonFree(t *testing.T) {
	l := borrowed(t)
	l.entry(&event.ContainerReleased{Container: ref(1, 1), ExitStatus: yarn.ExitKilledByRM},
		&event.ContainerReleased{Container: ref(1, 2), ExitStatus: yarn.ExitKilledByRM})
	l.entry(hold(1, 2, 1, 1))
	l.legal()
}

// TestBeyondMaximum checks a queue that is above its maximum since a node shrank. It may lose a
// reservation and a container in one entry, even if no other queue wants anything.
func TestBeyondMaximum(t *testing.T) {
	l := borrowed(t)
	l.entry(preemption(3, yarnSelector, movingReservations), want(2, large, 0))
	l.entry(&event.ContainerCompleted{Container: ref(1, 4)})
	l.entry(want(1, yarn.NewResource(4096, 1), 1), hold(1, 1, 5, 1))
	l.entry(&event.NodeResourceChanged{Node: 2, Total: yarn.NewResource(4096, 8)})
	l.legal()
	l.entry(&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelPreempted}, warn(1, 1, 0, 11_000))
	l.legal()
	l.entry(warn(1, 2, 0, 11_000))
	l.broken("S18", "no other queue wants anything")
}

// TestReservationTakenByPriority checks that a queue of a higher priority may take a reservation
// below a guarantee. The queue keeps its guarantee without the reservation, so another container of
// the queue may end in the same round. Without priorities, no queue may take the reservation, and
// the queue must keep the container. So it must in a later round, even of the same entry.
func TestReservationTakenByPriority(t *testing.T) {
	round := func(between []event.Event, more ...event.Property) *logbook {
		l := borrowed(t)
		l.entry(preemption(3, more...))
		l.reserve()
		l.entry(&event.ContainerCompleted{Container: ref(1, 2)}, &event.ContainerCompleted{Container: ref(1, 3)},
			&event.ContainerCompleted{Container: ref(1, 4)})
		l.app(3, "root.b")
		l.entry(want(3, yarn.NewResource(4096, 1), 2))
		l.entry(give(3, 1, 2), give(3, 2, 2))
		l.entry(want(1, yarn.NewResource(4096, 1), 1),
			&event.ContainerReleased{Container: ref(3, 1), ExitStatus: yarn.ExitKilledByRM})
		l.entry(hold(2, 1, 5, 2), &event.TimeAdvanced{NowMillis: 11_000})
		l.legal()
		taken := []event.Event{&event.ReservationCancelled{Reservation: 2, Cause: yarn.CancelPreempted}}
		l.entry(append(append(taken, between...), preempt(1, 1))...)
		return l
	}
	round(nil, queuePriorities).legal()
	round(nil).broken("S18", "root.a uses 4096MB")
	round([]event.Event{&event.TimeAdvanced{NowMillis: 12_000}}, queuePriorities).broken("S18", "root.a uses 4096MB")
}

// TestMovedToFullNode checks that a reservation is judged by the configuration at the time when it
// is made, even if the same entry changes the configuration afterwards.
func TestMovedToFullNode(t *testing.T) {
	l := borrowed(t)
	l.entry(preemption(3, yarnSelector, movingReservations))
	l.entry(hold(1, 2, 1, 1), preemption(4))
	l.legal()
}

// TestOverdue checks from when on a warning is overdue.
func TestOverdue(t *testing.T) {
	l := borrowed(t)
	l.reserve()
	l.entry(&event.TimeAdvanced{NowMillis: 20_000})
	if n := len(l.m.Overdue(9000)); n != 0 {
		t.Errorf("%d are overdue", n)
	}
	if n := len(l.m.Overdue(8999)); n != 2 {
		t.Errorf("%d are overdue, want both", n)
	}
}

// TestPreemptionViolations checks that each kind of violation is found at the end of a log.
func TestPreemptionViolations(t *testing.T) {
	later := func(l *logbook) { l.entry(&event.TimeAdvanced{NowMillis: 11_000}) }
	for _, c := range []struct {
		name, id, text string
		do             func(l *logbook)
	}{
		{"without a warning", "S17", "without a warning", func(l *logbook) { l.entry(preempt(1, 1)) }},
		{"after its withdrawal", "S17", "without a warning", func(l *logbook) {
			l.reserve()
			l.entry(&event.PreemptionWithdrawn{Container: ref(1, 1), Cause: yarn.WithdrawNotChosen})
			later(l)
			l.entry(preempt(1, 1))
		}},
		{"too early", "S17", "preempted 10000 ms before its deadline", func(l *logbook) {
			l.reserve()
			l.entry(preempt(1, 1))
		}},
		{"too short a warning", "S17", "has 9999 ms", func(l *logbook) { l.entry(hold(1, 2, 1, 1), warn(1, 1, 1, 10_999)) }},
		{"twice", "S17", "is warned again, until 12000", func(l *logbook) {
			l.reserve()
			l.entry(warn(1, 1, 1, 12_000))
		}},
		{"while it is off", "S17", "is warned while nothing is to be preempted", func(l *logbook) {
			l.entry(configuration(3, "100"))
			l.entry(warn(1, 1, 0, 90_000))
		}},
		{"left when it is switched off", "S17", "preemption is switched off", func(l *logbook) {
			l.reserve()
			l.entry(configuration(3, "100"))
		}},
		{"after its end", "S17", "is warned after its end", func(l *logbook) {
			l.entry(&event.ContainerReleased{Container: ref(1, 1)})
			l.entry(warn(1, 1, 0, 11_000))
		}},
		{"withdrawn twice", "S17", "it stands: false", func(l *logbook) {
			l.entry(&event.PreemptionWithdrawn{Container: ref(1, 1), Cause: yarn.WithdrawNotChosen})
		}},
		{"given again at once", "S17", "starts again", func(l *logbook) {
			l.reserve()
			l.entry(&event.PreemptionWithdrawn{Container: ref(1, 1), Cause: yarn.WithdrawNotChosen}, warn(1, 1, 1, 11_000))
		}},
		{"for nobody", "S18", "r0, which is not held", func(l *logbook) { l.entry(warn(1, 1, 0, 11_000)) }},
		{"for no reservation", "S18", "r7, which is not held", func(l *logbook) { l.entry(warn(1, 1, 7, 11_000)) }},
		{"on another node", "S18", "to make room for r1, which holds n1",
			func(l *logbook) { l.entry(hold(1, 2, 1, 1), warn(1, 3, 1, 11_000), warn(1, 1, 1, 11_000)) }},
		{"in another's name", "S18", "in the name of root.c, it is of root.b", func(l *logbook) {
			e := warn(1, 1, 1, 11_000)
			e.Queue = "root.c"
			l.entry(hold(1, 2, 1, 1), e)
		}},
		{"of its own queue", "S18", "may take nothing there", func(l *logbook) {
			e := warn(1, 1, 0, 11_000)
			e.Queue = "root.a"
			l.entry(preemption(3, yarnSelector))
			l.entry(e)
		}},
		{"of a queue that gives nothing", "S18", "may take nothing there", func(l *logbook) {
			l.entry(preemption(3, event.Property{Name: "yarn.scheduler.capacity.root.disable_preemption", Value: "true"},
				yarnSelector))
			l.entry(warn(1, 1, 0, 11_000))
		}},
		{"below the guarantee", "S18", "root.a uses 16384MB 4vc of the 4096MB 4vc that it is guaranteed, 0MB 0vc when all",
			func(l *logbook) {
				l.entry(preemption(3, yarnSelector))
				l.entry(warn(1, 1, 0, 11_000), warn(1, 2, 0, 11_000), warn(1, 3, 0, 11_000), warn(1, 4, 0, 11_000))
			}},
		{"while nobody wants anything", "S18", "no other queue wants anything", func(l *logbook) {
			l.entry(preemption(3, yarnSelector), want(2, large, 0))
			l.entry(warn(1, 1, 0, 11_000))
		}},
		{"for a priority without a reservation", "S18", "which holds no reservation on n1", func(l *logbook) {
			e := warn(1, 1, 0, 11_000)
			e.Cause = yarn.PreemptQueuePriority
			l.entry(preemption(3, yarnSelector))
			l.entry(e)
		}},
		{"for a priority that has its guarantee", "S18", "it lacks nothing of its guarantee", func(l *logbook) {
			e := warn(1, 1, 0, 11_000)
			e.Cause = yarn.PreemptQueuePriority
			l.entry(preemption(3, yarnSelector, event.Property{Name: "yarn.scheduler.capacity.root.a.capacity", Value: "100"},
				event.Property{Name: "yarn.scheduler.capacity.root.b.capacity", Value: "0"}))
			l.entry(hold(1, 2, 1, 1), e)
		}},
		{"inside a queue, switched off", "S18", "for cause PRIORITY: nothing is to be taken so", func(l *logbook) {
			e := warn(1, 1, 0, 11_000)
			e.Cause, e.Queue = yarn.PreemptPriority, "root.a"
			l.entry(preemption(3, yarnSelector))
			l.entry(e)
		}},
		{"inside a queue for nobody", "S18", "no application of the queue may take it", func(l *logbook) {
			e := warn(1, 1, 0, 11_000)
			e.Cause, e.Queue = yarn.PreemptPriority, "root.a"
			l.entry(preemption(3, yarnSelector, event.Property{Name: "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled",
				Value: "true"}))
			l.entry(e)
		}},
		{"at the guarantee when it ends", "S18", "is preempted, and root.a uses", func(l *logbook) {
			l.reserve()
			l.entry(preemption(3, event.Property{Name: "yarn.scheduler.capacity.root.a.capacity", Value: "75"},
				event.Property{Name: "yarn.scheduler.capacity.root.b.capacity", Value: "25"}))
			later(l)
			l.entry(preempt(1, 1), preempt(1, 2))
		}},
		{"without room", "S18", "which makes room for no more than 4096MB", func(l *logbook) {
			l.reserve()
			l.entry(&event.PreemptionWithdrawn{Container: ref(1, 2), Cause: yarn.WithdrawNotChosen})
			later(l)
			l.entry(preempt(1, 1))
		}},
		{"of a reservation that ends", "S18", "r1 is cancelled, and container_", func(l *logbook) {
			l.reserve()
			l.entry(&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator})
		}},
		{"of what moves", "S18", "application 2 moves to another queue", func(l *logbook) {
			l.reserve()
			l.entry(&event.ApplicationMoved{App: 2, Queue: "root.a"})
		}},
		{"beyond the maximum", "S9", "queue root.b uses", func(l *logbook) {
			l.entry(preemption(3, event.Property{Name: "yarn.scheduler.capacity.root.b.maximum-capacity", Value: "30"}))
			l.entry(hold(1, 2, 1, 1), warn(1, 1, 1, 11_000), warn(1, 2, 1, 11_000))
		}},
		{"a full node for nothing", Audit, "the smallest container is", func(l *logbook) { l.entry(hold(1, 2, 1, 1)) }},
		{"a full node where too little ends", Audit, "the smallest container is", func(l *logbook) {
			l.entry(&event.ContainerReleased{Container: ref(1, 1), ExitStatus: yarn.ExitKilledByRM})
			l.entry(hold(1, 2, 1, 1))
		}},
		{"a full node before reservations move", Audit, "the smallest container is", func(l *logbook) {
			l.entry(hold(1, 2, 1, 1), preemption(3, yarnSelector, movingReservations))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := borrowed(t)
			l.legal()
			c.do(l)
			l.broken(c.id, c.text)
		})
	}
}

// TestGuarantees checks guarantees by shares, weights and amounts, also for labels, and that a
// guarantee is never more than the maximum.
func TestGuarantees(t *testing.T) {
	l := begin(t)
	const p = "yarn.scheduler.capacity."
	check := func(a, b yarn.Resource, properties ...event.Property) {
		t.Helper()
		e := configuration(l.m.queues.version+1, "100")
		e.Properties = append(e.Properties, properties...)
		l.entry(e)
		if gotA, gotB := l.m.queues.guarantee(l.m.queues.queue("root.a"), ""),
			l.m.queues.guarantee(l.m.queues.queue("root.b"), ""); gotA != a || gotB != b {
			t.Errorf("%v: %s and %s, want %s and %s", properties, gotA, gotB, a, b)
		}
	}
	of := func(a, b string) []event.Property {
		return []event.Property{{Name: p + "root.a.capacity", Value: a}, {Name: p + "root.b.capacity", Value: b}}
	}
	check(yarn.NewResource(4096, 4), yarn.NewResource(12_288, 12), of("25", "75%")...)
	check(yarn.NewResource(5461, 5), yarn.NewResource(10_922, 10), of("1w", "2w")...)
	check(yarn.Resource{}, yarn.Resource{}, of("1w", "auto")...)
	check(yarn.NewResource(1024, 1), yarn.NewResource(2048, 2), of("[memory=1024,vcores=1]", "[memory=2Gi,vcores=2]")...)
	check(yarn.NewResource(4096, 4), yarn.NewResource(12_288, 12),
		of("[memory=8Gi,vcores=8]", "[memory=24Gi,vcores=24]")...)
	check(yarn.NewResource(1638, 1), yarn.NewResource(12_288, 12),
		append(of("25", "75"), event.Property{Name: p + "root.a.maximum-capacity", Value: "10"})...)
	check(yarn.Resource{}, yarn.NewResource(2048, 2), of("[memory=50%,vcores=1]", "[memory=2048,vcores=2]")...)
	l.entry(preemption(l.m.queues.version+1,
		event.Property{Name: p + "root.a.accessible-node-labels.x.capacity", Value: "40"}))
	l.entry(&event.LabelsSet{Labels: []event.Label{{Name: "x"}}},
		&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: nodeID(2), Label: "x"}}})
	if got := l.m.queues.guarantee(l.m.queues.queue("root.a"), "x"); got != yarn.NewResource(3276, 3) {
		t.Errorf("of label x %s", got)
	}
	if got := l.m.queues.guarantee(l.m.queues.queue("root.b"), "x"); !got.IsZero() {
		t.Errorf("of label x %s, b has none", got)
	}
}
