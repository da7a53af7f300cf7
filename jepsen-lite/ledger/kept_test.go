package ledger

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func keptFor(millis string) event.Property {
	return event.Property{Name: "yarn.scheduler.capacity.preemption.keep-guarantee-ms", Value: millis}
}

// mayIdle is what may stand idle for leaf b at first.
const mayIdle = 5000 << 32

// keep says that a size is kept for leaf b, which uses it.
func (l *logbook) keep(size yarn.Resource) *event.GuaranteeKept {
	return &event.GuaranteeKept{Path: "root.b", Size: size, ReachedMillis: l.m.now, IdleLeft: mayIdle}
}

// left says that so much may still stand idle for leaf b, which last used a size at a time.
func left(size yarn.Resource, at int64, idle uint64) *event.GuaranteeKept {
	return &event.GuaranteeKept{Path: "root.b", Size: size, ReachedMillis: at, IdleLeft: idle}
}

// served starts a log in which b, whose guarantee is 12 GiB, had to wait for a large container of node 1,
// which is kept for it for 10 s, and waits for another one. a borrows half of node 2, all of which it uses.
// It is 11 s.
func served(t *testing.T) *logbook {
	l := waiting(t, keptFor("10000"))
	l.entry(want(2, large, 2), debtTo(yarn.DebtOwed))
	l.reserve()
	l.pass(11_000, 500)
	l.entry(l.keep(large), preempt(1, 1), preempt(1, 2))
	l.entry(&event.ContainerCompleted{Container: ref(1, 1)}, &event.ContainerCompleted{Container: ref(1, 2)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	return l
}

// ends ends the large container of b. a takes what is free beside it, and wants another container.
func (l *logbook) ends(more yarn.Resource) {
	l.entry(&event.ContainerCompleted{Container: ref(2, 1)}, want(1, yarn.NewResource(2048, 1), 1))
	l.entry(give(1, 5, 1), want(1, more, 1))
	l.legal()
}

// TestKept follows what is kept for b: a may borrow what is free beside it, b may use it again, and when b
// has not used it for 10 s, it ends, and a may borrow all.
func TestKept(t *testing.T) {
	l := served(t)
	l.ends(yarn.NewResource(4096, 1))
	l.entry(give(2, 2, 1), debtTo(yarn.DebtEnded))
	l.pass(14_000, 500)
	l.entry(l.keep(large))
	l.entry(&event.ContainerCompleted{Container: ref(2, 2)})
	l.pass(19_000, 500)
	l.entry(left(large, 14_000, 1<<32))
	l.pass(24_000, 500)
	l.entry(give(1, 6, 1))
	l.entry(left(yarn.Resource{}, 14_000, 1<<32))
	l.entry(left(yarn.Resource{}, 14_000, 0))
	l.legal()
	if d := l.m.Owed(); d.Keeps != 3 || d.Near != 1 || len(d.Kept) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestKeptWithoutLeaf checks that nothing is kept for a leaf that is removed.
func TestKeptWithoutLeaf(t *testing.T) {
	l := served(t)
	l.m.queues.dropQueue(l.m.queues.queue("root.b"))
	if d := l.m.Owed(); len(d.Kept) != 0 || len(d.List) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestKeptViolations checks that each kind of violation is found at the end of a log.
func TestKeptViolations(t *testing.T) {
	for _, c := range []struct {
		name, text string
		do         func(l *logbook)
	}{
		{"borrowed", "leaves 2048MB 12vc free, but 6144MB 1vc is kept for others", func(l *logbook) {
			l.ends(yarn.NewResource(4096, 1))
			l.entry(give(1, 6, 1))
		}},
		{"reserved", "borrows 8192MB 1vc", func(l *logbook) {
			l.ends(yarn.NewResource(8192, 1))
			l.entry(hold(2, 1, 6, 1))
		}},
		{"grown into", "borrows 1024MB 0vc", func(l *logbook) {
			l.ends(small)
			l.entry(&event.ContainerResizeAsked{Container: ref(1, 5), Size: yarn.NewResource(3072, 1)})
			l.entry(&event.ContainerIncreased{Container: ref(1, 5)})
		}},
		{"for no leaf", "before that: false", func(l *logbook) {
			l.entry(&event.GuaranteeKept{Path: "root.c", Size: small})
		}},
		{"of no label", "before that: false", func(l *logbook) {
			l.entry(&event.GuaranteeKept{Path: "root.b", Label: "x", Size: small})
		}},
		{"a negative size", "before that: true", func(l *logbook) { l.entry(l.keep(yarn.NewResource(-1, 0))) }},
		{"ended twice", "before that: false", func(l *logbook) {
			l.entry(preemption(9, keptFor("0")), left(yarn.Resource{}, 0, 0))
			l.legal()
			l.entry(left(yarn.Resource{}, 0, 0))
		}},
		{"for a leaf for which nothing ends", "may stand idle for root.a", func(l *logbook) {
			l.entry(&event.GuaranteeKept{Path: "root.a", Size: small, ReachedMillis: l.m.now, IdleLeft: 1})
		}},
		{"and nothing may stand idle", "0 of label \"\" may stand idle", func(l *logbook) { l.entry(left(large, 11_000, 0)) }},
		{"more than was lost", "may stand idle for root.b", func(l *logbook) { l.entry(left(large, 11_000, mayIdle+1)) }},
		{"with the key at 0", "nothing may be", func(l *logbook) { l.entry(preemption(9, keptFor("0")), l.keep(large)) }},
		{"with YARN's selector", "nothing may be", func(l *logbook) { l.entry(preemption(9, yarnSelector), l.keep(large)) }},
		{"more than it used", "which has used 6144MB 1vc", func(l *logbook) { l.entry(l.keep(yarn.NewResource(7168, 1))) }},
		{"ended too early", "which it used 9000 ms ago", func(l *logbook) {
			l.ends(small)
			l.pass(20_000, 500)
			l.entry(left(yarn.Resource{}, 11_000, mayIdle))
		}},
		{"ended while it is used", "which it used 11000 ms ago", func(l *logbook) {
			l.pass(22_000, 500)
			l.entry(left(small, 11_000, mayIdle))
		}},
		{"used, which it does not", "is kept for root.b since 12000", func(l *logbook) {
			l.ends(small)
			l.pass(12_000, 500)
			l.entry(left(large, 12_000, mayIdle))
		}},
		{"never ended", "is still kept for root.b", func(l *logbook) {
			l.ends(small)
			l.entry(want(2, large, 0), debtTo(yarn.DebtEnded))
			l.pass(27_000, 500)
			l.legal()
			l.pass(28_000, 500)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := served(t)
			l.legal()
			c.do(l)
			l.broken("L7", c.text)
		})
	}
}
