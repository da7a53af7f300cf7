package ledger

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// guaranteeWait returns the property of the time in which queues get their guarantees back.
func guaranteeWait(millis string) event.Property {
	return event.Property{Name: "yarn.scheduler.capacity.preemption.guarantee-wait-ms", Value: millis}
}

// debtTo returns what a round finds about leaf b.
func debtTo(is yarn.Debt) *event.GuaranteeOwed { return &event.GuaranteeOwed{Path: "root.b", Debt: is} }

// waiting starts a log in which a uses the whole cluster, b waits for one large container, and gets it
// within 40 s. With rounds each second and one round for all, it is overdue after 19 s.
func waiting(t *testing.T, more ...event.Property) *logbook {
	l := borrowed(t)
	l.entry(preemption(3, append([]event.Property{guaranteeWait("40000"),
		{Name: "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval", Value: "1000"},
		{Name: "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round", Value: "1"}}, more...)...))
	return l
}

// pass lets time pass in steps, with an entry after each, until a violation.
func (l *logbook) pass(until, step int64) {
	for now := l.m.now + step; now <= until && len(l.m.Violations()) == 0; now += step {
		l.entry(&event.TimeAdvanced{NowMillis: now})
	}
}

// TestDebt follows a debt until the leaf has its container, and one that ends with its ask.
func TestDebt(t *testing.T) {
	l := waiting(t)
	l.entry(debtTo(yarn.DebtOwed))
	l.pass(20_000, 500)
	l.entry(debtTo(yarn.DebtOverdue), hold(1, 2, 1, 1), warn(1, 1, 1, 30_000), warn(1, 2, 1, 30_000))
	l.pass(30_000, 1000)
	l.entry(preempt(1, 1), preempt(1, 2))
	l.entry(&event.ContainerCompleted{Container: ref(1, 1)}, &event.ContainerCompleted{Container: ref(1, 2)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch}, debtTo(yarn.DebtEnded))
	l.entry(want(2, small, 1), debtTo(yarn.DebtOwed))
	l.entry(want(2, small, 0), debtTo(yarn.DebtEnded))
	l.legal()
	if d := l.m.Owed(); d.Owed != 2 || d.Overdue != 1 || d.LongestMillis != 29_000 || len(d.List) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestDebtWithoutRounds checks that time without rounds does not count: without entries, or just after
// an election.
func TestDebtWithoutRounds(t *testing.T) {
	l := waiting(t)
	l.entry(debtTo(yarn.DebtOwed))
	l.entry(&event.TimeAdvanced{NowMillis: 900_000})
	l.entry(debtTo(yarn.DebtOverdue))
	for range 60 {
		l.term++
		l.pass(l.m.now+1000, 500)
	}
	l.pass(l.m.now+20*60_000, 60_000)
	l.legal()
}

// TestDebtFromItsBegin checks that the time before a debt begins does not count, where it is overdue at once:
// 3 s later it may still be marked.
func TestDebtFromItsBegin(t *testing.T) {
	l := waiting(t, guaranteeWait("5000"))
	l.pass(10_000, 500)
	l.entry(&event.TimeAdvanced{NowMillis: 11_000}, debtTo(yarn.DebtOwed))
	l.pass(14_000, 500)
	l.legal()
	l.pass(15_000, 500)
	if len(l.m.Violations()) != 1 {
		t.Errorf("%d violations by a debt that is late", len(l.m.Violations()))
	}
}

// TestDebtNotJudged checks that a leaf may wait while it is not certain that enough can be taken.
func TestDebtNotJudged(t *testing.T) {
	protected := event.Property{Name: "yarn.scheduler.capacity.root.a.disable_preemption", Value: "true"}
	limited := event.Property{Name: "yarn.scheduler.capacity.root.b.minimum-user-limit-percent", Value: "50"}
	for name, do := range map[string]func(t *testing.T) *logbook{
		"a gives nothing":        func(t *testing.T) *logbook { return waiting(t, protected) },
		"a user's limit":         func(t *testing.T) *logbook { return waiting(t, limited) },
		"reserved for others":    func(t *testing.T) *logbook { return reservedForOthers(waiting(t)) },
		"room that will be free": func(t *testing.T) *logbook { return endingOn1(waiting(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			l := do(t)
			l.entry(debtTo(yarn.DebtOwed))
			l.pass(20_000, 500)
			l.entry(debtTo(yarn.DebtOverdue))
			l.pass(120_000, 500)
			l.legal()
			if d := l.m.Owed(); d.Judged != 0 {
				t.Errorf("%d judged", d.Judged)
			}
		})
	}
}

// reservedForOthers reserves both nodes for another application.
func reservedForOthers(l *logbook) *logbook {
	l.entry(want(1, large, 2))
	l.entry(&event.ContainerCompleted{Container: ref(1, 1)}, &event.ContainerCompleted{Container: ref(1, 3)})
	l.entry(hold(1, 1, 5, 1), hold(2, 1, 6, 2))
	return l
}

// endingOn1 ends all containers of node 1. The node still has to say so.
func endingOn1(l *logbook) *logbook {
	l.entry(&event.ContainerReleased{Container: ref(1, 1)}, &event.ContainerReleased{Container: ref(1, 2)})
	return l
}

// TestDebtViolations checks that each kind of violation is found at the end of a log.
func TestDebtViolations(t *testing.T) {
	for _, c := range []struct {
		name, text string
		more       []event.Property
		do         func(l *logbook)
	}{
		{"twice", "it stands: true", nil, func(l *logbook) { l.entry(debtTo(yarn.DebtOwed), debtTo(yarn.DebtOwed)) }},
		{"ended before", "it stands: false", nil, func(l *logbook) { l.entry(debtTo(yarn.DebtEnded)) }},
		{"for nothing", "lacks nothing", nil, func(l *logbook) { l.entry(want(2, large, 0), debtTo(yarn.DebtOwed)) }},
		{"with the key at -1", "lacks nothing", []event.Property{guaranteeWait("-1")},
			func(l *logbook) { l.entry(debtTo(yarn.DebtOwed)) }},
		{"with YARN's selector", "lacks nothing", []event.Property{yarnSelector},
			func(l *logbook) { l.entry(debtTo(yarn.DebtOwed)) }},
		{"given up", "owed nothing of label \"\" any more, and waits", nil,
			func(l *logbook) {
				l.entry(debtTo(yarn.DebtOwed))
				l.entry(debtTo(yarn.DebtEnded), debtTo(yarn.DebtOwed))
			}},
		{"overdue too early", "is overdue after 18000 ms", nil, func(l *logbook) {
			l.entry(debtTo(yarn.DebtOwed))
			l.pass(19_000, 1000)
			l.entry(debtTo(yarn.DebtOverdue))
		}},
		{"never overdue", "it is not overdue", nil, func(l *logbook) {
			l.entry(debtTo(yarn.DebtOwed))
			l.pass(22_500, 500)
			l.legal()
			l.pass(23_500, 500)
		}},
		{"nothing is taken", "application 2 waits for 6144MB 1vc, and n1:45454 can give it", nil, func(l *logbook) {
			l.entry(debtTo(yarn.DebtOwed))
			l.pass(20_000, 1000)
			l.entry(debtTo(yarn.DebtOverdue))
			l.pass(43_000, 1000)
			l.legal()
			l.pass(45_000, 1000)
		}},
		{"nothing is taken on the reserved node", "and n2:45454 can give it", nil, func(l *logbook) {
			l.entry(&event.ContainerCompleted{Container: ref(1, 3)})
			l.entry(hold(1, 2, 1, 2), debtTo(yarn.DebtOwed))
			l.pass(20_000, 1000)
			l.entry(debtTo(yarn.DebtOverdue))
			l.pass(45_000, 1000)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := waiting(t, c.more...)
			l.legal()
			c.do(l)
			l.broken("L7", c.text)
		})
	}
}
