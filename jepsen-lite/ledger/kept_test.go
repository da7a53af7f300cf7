package ledger

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func keptFor(millis string) event.Property {
	return event.Property{Name: "yarn.scheduler.capacity.preemption.keep-guarantee-ms", Value: millis}
}

// keep says that a size is kept for leaf b.
func keep(size yarn.Resource) *event.GuaranteeKept {
	return &event.GuaranteeKept{Path: "root.b", Size: size}
}

// served starts a log in which b, whose guarantee is 12 GiB, had to wait for a large container of node 1,
// which is kept for it for 10 s, and waits for another one. a borrows half of node 2, all of which it uses.
func served(t *testing.T) *logbook {
	l := waiting(t, keptFor("10000"))
	l.entry(want(2, large, 2), debtTo(yarn.DebtOwed))
	l.entry(&event.ContainerCompleted{Container: ref(1, 1)}, &event.ContainerCompleted{Container: ref(1, 2)},
		give(2, 1, 1), keep(large))
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
	l.pass(4000, 500)
	l.entry(keep(large))
	l.entry(&event.ContainerCompleted{Container: ref(2, 2)})
	l.pass(14_000, 500)
	l.entry(give(1, 6, 1))
	l.entry(keep(yarn.Resource{}))
	l.legal()
	if d := l.m.Owed(); d.Keeps != 2 || d.Near != 1 || len(d.Kept) != 0 {
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
			l.entry(hold(1, 1, 6, 1))
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
		{"a negative size", "before that: true", func(l *logbook) { l.entry(keep(yarn.NewResource(-1, 0))) }},
		{"ended twice", "before that: false", func(l *logbook) {
			l.entry(preemption(9, keptFor("0")), keep(yarn.Resource{}))
			l.legal()
			l.entry(keep(yarn.Resource{}))
		}},
		{"without a debt", "never had to wait", func(l *logbook) {
			l.entry(&event.GuaranteeKept{Path: "root.a", Size: small})
		}},
		{"with the key at 0", "never had to wait", func(l *logbook) { l.entry(preemption(9, keptFor("0")), keep(large)) }},
		{"with YARN's selector", "never had to wait", func(l *logbook) { l.entry(preemption(9, yarnSelector), keep(large)) }},
		{"more than it used", "which has used 6144MB 1vc", func(l *logbook) { l.entry(keep(yarn.NewResource(7168, 1))) }},
		{"ended too early", "which it used 9000 ms ago", func(l *logbook) {
			l.ends(small)
			l.pass(10_000, 500)
			l.entry(keep(yarn.Resource{}))
		}},
		{"ended while it is used", "which it used 11000 ms ago", func(l *logbook) {
			l.pass(12_000, 500)
			l.entry(keep(small))
		}},
		{"never ended", "is still kept for root.b", func(l *logbook) {
			l.ends(small)
			l.pass(17_000, 500)
			l.legal()
			l.pass(18_000, 500)
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
