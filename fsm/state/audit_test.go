package state

import (
	"fmt"
	"testing"

	"rmd/fsm/event"
)

// TestTheAuditIsBounded checks that the state keeps the newest changes and the newest refusals,
// that refusals displace no changes, and that a snapshot keeps their order.
func TestTheAuditIsBounded(t *testing.T) {
	s := world(t)
	record := func(e *event.Audited) {
		if err := s.Apply(e); err != nil { // apply checks the whole state each time
			t.Fatal(err)
		}
	}
	for i := range MaxAuditChanges + 50 {
		record(&event.Audited{Who: "ann", Action: fmt.Sprint(i), Result: event.AuditDone})
	}
	f := s.Fork()
	for i := range 3 * MaxAuditRefusals {
		record(&event.Audited{Who: "mallory", Action: fmt.Sprint("no ", i), Result: "NOT_ALLOWED"})
	}
	look := func(s *State) (changes, refusals int, first, last AuditEntry) {
		var before uint64
		for _, a := range s.Audit.After(0) {
			if a.Number <= before || a.AtMillis == 0 {
				t.Errorf("entry %+v after %d", a, before)
			}
			before = a.Number
			if a.Changed() {
				if changes++; changes == 1 {
					first = a
				}
			} else {
				refusals++
			}
			last = a
		}
		return changes, refusals, first, last
	}
	if changes, refusals, first, last := look(s); changes != MaxAuditChanges || refusals != MaxAuditRefusals ||
		first.Action != "50" || last.Action != fmt.Sprint("no ", 3*MaxAuditRefusals-1) {
		t.Errorf("%d changes from %+v, %d refusals to %+v", changes, first, refusals, last)
	}
	if _, refusals, _, _ := look(f); refusals != 0 {
		t.Error("a fork has what came after it")
	}
	back, err := decode(encode(s))
	if err != nil {
		t.Fatal(err)
	}
	apply(t, s, &event.Audited{Action: "later", Result: event.AuditDone})
	apply(t, back, &event.Audited{Action: "later", Result: event.AuditDone})
	was, is := s.Audit.After(0), back.Audit.After(0)
	if len(was) != len(is) || s.Digest() != back.Digest() || back.Audit.Newest() != s.Audit.Newest() {
		t.Fatalf("%d entries became %d, newest %d and %d", len(was), len(is), s.Audit.Newest(), back.Audit.Newest())
	}
	for i := range was {
		if was[i] != is[i] {
			t.Fatalf("%+v became %+v", was[i], is[i])
		}
	}
	if err := back.Check(); err != nil {
		t.Error(err)
	}
}

// TestARestoreKeepsTheAudit checks that a restored state takes over the audit of the running
// cluster.
func TestARestoreKeepsTheAudit(t *testing.T) {
	running, backup := world(t), world(t)
	apply(t, running, &event.Audited{Action: "one", Result: event.AuditDone},
		&event.Audited{Action: "two", Result: "NOT_ALLOWED"})
	apply(t, backup, &event.Audited{Action: "old", Result: event.AuditDone})
	backup.Audit.Keep(&world(t).Audit) // a new cluster has no audit
	if got := backup.Audit.After(0); len(got) != 1 || got[0].Action != "old" {
		t.Errorf("from a fresh cluster: %+v", got)
	}
	backup.Audit.Keep(&running.Audit)
	apply(t, backup, &event.Audited{Action: "three", Result: event.AuditDone})
	if got := backup.Audit.After(0); len(got) != 3 || got[0].Action != "one" || got[2].Number != 3 {
		t.Errorf("audit after Keep: %+v, want one, two, three, the last one with number 3", got)
	}
	if got := running.Audit.After(0); len(got) != 2 {
		t.Errorf("the running state has become %+v", got)
	}
	if err := backup.Check(); err != nil {
		t.Error(err)
	}
}
