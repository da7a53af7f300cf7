package ledger

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

const backfillKey = "yarn.scheduler.capacity.root.backfill"

// lending starts a log in which applications of a may borrow by a policy. On node 1, a container of
// application 4 runs that declares to end at 101 s. Application 2 of b has reserved the node.
// Application 3 of a asks for small containers that declare to run for 50 s.
func lending(t *testing.T, policy string) *logbook {
	l := begin(t)
	e := configuration(2, "100")
	e.Properties = append(e.Properties, event.Property{Name: backfillKey, Value: policy},
		event.Property{Name: "yarn.scheduler.capacity.root.b.backfill", Value: "off"},
		event.Property{Name: "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill", Value: "10000"})
	l.entry(e, &event.TimeAdvanced{NowMillis: 1000})
	l.declaring(4, "root.a", "100")
	l.entry(want(4, yarn.NewResource(4096, 1), 1), give(4, 1, 1))
	l.app(2, "root.b")
	l.entry(want(2, large, 1), hold(1, 2, 1, 1))
	l.declaring(3, "root.a", "50")
	l.entry(want(3, small, 4))
	return l
}

// declaring registers an application that declares a lifetime for its containers.
func (l *logbook) declaring(app uint32, queue, seconds string) {
	l.entry(&event.ApplicationSubmitted{App: app, Name: "job", User: "u", Queue: queue, AM: small,
		Tags: []string{yarn.LifetimeTag + "seconds=" + seconds}},
		&event.AttemptStarted{App: app, Attempt: 1}, &event.AttemptActivated{App: app}, &event.AttemptRegistered{App: app})
}

func lend(app uint32, number uint64, deadline int64) *event.ContainerLent {
	return &event.ContainerLent{ContainerAllocated: *give(app, number, 1), Reservation: 1, DeadlineMillis: deadline}
}

func recall(app uint32, number uint64, deadline int64) *event.PreemptionAsked {
	e := warn(app, number, 1, deadline)
	e.Cause = yarn.PreemptLease
	return e
}

// TestLeases follows three leases to their ends: one ends with its container, one at its deadline,
// and one with the reservation.
func TestLeases(t *testing.T) {
	l := lending(t, "declared")
	l.entry(lend(3, 1, 101_000), lend(3, 2, 101_000), lend(3, 3, 101_000))
	l.entry(&event.TimeAdvanced{NowMillis: 51_000}, &event.ContainerCompleted{Container: ref(3, 1)})
	l.entry(&event.TimeAdvanced{NowMillis: 101_000}, recall(3, 2, 101_000), preempt(3, 2),
		&event.ContainerCompleted{Container: ref(3, 2), ExitStatus: yarn.ExitPreempted})
	l.legal()
	l.entry(&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator},
		&event.TimeAdvanced{NowMillis: 300_000})
	l.legal()
	if n := len(l.m.Overdue(0)); n != 0 || l.m.Counts.Lent != 3 {
		t.Errorf("%d are overdue though the reservation is over; %d were lent", n, l.m.Counts.Lent)
	}
}

// TestLeaseIsOverdue checks that Overdue returns a container that keeps borrowed room after its
// deadline.
func TestLeaseIsOverdue(t *testing.T) {
	l := lending(t, "declared")
	l.entry(lend(3, 1, 101_000))
	l.entry(&event.TimeAdvanced{NowMillis: 110_000})
	if n := len(l.m.Overdue(9000)); n != 0 {
		t.Errorf("%d are overdue", n)
	}
	if n := len(l.m.Overdue(8999)); n != 1 {
		t.Errorf("%d are overdue, want the borrower", n)
	}
}

// TestLeaseViolations checks that each kind of violation is found at the end of a log.
func TestLeaseViolations(t *testing.T) {
	for _, c := range []struct {
		name, policy, id, text string
		do                     func(l *logbook)
	}{
		{"delays the reservation", "declared", "S20", "has room of r1 until 101001, which can be fulfilled at 101000",
			func(l *logbook) { l.entry(lend(3, 1, 101_001)) }},
		{"declares to end later", "declared", "S20", "declares to end at 51000 and has room of r1 until 50000",
			func(l *logbook) { l.entry(lend(3, 1, 50_000)) }},
		{"has declared nothing", "declared", "S20", "declares to end at 0",
			func(l *logbook) { l.entry(lend(1, 1, 101_000)) }},
		{"may not be ended", "declared", "S20", "has declared no end", func(l *logbook) { l.entry(lend(1, 1, 0)) }},
		{"takes what is waited for", "declared", "S20", "takes room that r1 waits for",
			func(l *logbook) { l.entry(lend(3, 1, event.NoLease)) }},
		{"of a queue that may not", "declared", "S20", "its queue root.b may not", func(l *logbook) {
			l.declaring(5, "root.b", "50")
			l.entry(want(5, small, 1))
			l.entry(lend(5, 1, 101_000))
		}},
		{"an AM", "preemptable", "S20", "an AM, borrows", func(l *logbook) {
			e := lend(3, 1, 0)
			e.AM = true
			l.entry(e)
		}},
		{"of another node", "declared", "S8", "does not hold node 2", func(l *logbook) {
			e := lend(3, 1, 101_000)
			e.Node = 2
			l.entry(e)
		}},
		{"recalled without a lease", "declared", "S20", "that it does not have",
			func(l *logbook) { l.entry(recall(4, 1, 1000)) }},
		{"recalled twice", "declared", "S20", "asked again", func(l *logbook) {
			l.entry(lend(3, 1, 101_000), recall(3, 1, 11_000))
			l.entry(recall(3, 1, 11_000))
		}},
		{"recalled for later", "declared", "S20", "may stay 10001 ms", func(l *logbook) {
			l.entry(lend(3, 1, 101_000))
			l.entry(recall(3, 1, 11_001))
		}},
		{"recalled, and stays", "preemptable", "S20", "may stay until 1001", func(l *logbook) {
			l.entry(lend(1, 1, 0))
			l.entry(recall(1, 1, 1001))
		}},
		{"ended too early", "declared", "S20", "ends 10000 ms before", func(l *logbook) {
			l.entry(lend(3, 1, 101_000), recall(3, 1, 11_000))
			l.entry(preempt(3, 1))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := lending(t, c.policy)
			l.legal()
			c.do(l)
			l.broken(c.id, c.text)
		})
	}
}
