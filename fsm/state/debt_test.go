package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// indebted returns a world with a label that owes root.a its guarantee of both partitions.
func indebted(t failer) *State {
	s := world(t)
	apply(t, s, &event.LabelsSet{Labels: []event.Label{{Name: "gpu"}}},
		&event.TimeAdvanced{NowMillis: s.Meta.NowMillis + 1000}, owed("root.a", "", yarn.DebtOwed),
		&event.TimeAdvanced{NowMillis: s.Meta.NowMillis + 5000}, owed("root.a", "gpu", yarn.DebtOwed))
	return s
}

func owed(path, label string, d yarn.Debt) *event.GuaranteeOwed {
	return &event.GuaranteeOwed{Path: path, Label: label, Debt: d}
}

// TestDebtKeepsItsTime checks that the time of a debt goes on when it becomes overdue, and that a
// debt that has ended begins again.
func TestDebtKeepsItsTime(t *testing.T) {
	s := indebted(t)
	queue := s.Queues.Find("root.a")
	since, _ := s.Debts.To(queue, 0)
	apply(t, s, &event.TimeAdvanced{NowMillis: s.Meta.NowMillis + 60_000}, owed("root.a", "", yarn.DebtOverdue))
	if late, ok := s.Debts.To(queue, 0); !ok || !late.Overdue || late.SinceMillis != since.SinceMillis {
		t.Errorf("the debt is %+v, was %+v", late, since)
	}
	if other, ok := s.Debts.To(queue, s.Labels.Find("gpu")); !ok || other.Overdue ||
		other.SinceMillis == since.SinceMillis {
		t.Errorf("the debt of the label is %+v", other)
	}
	apply(t, s, owed("root.a", "", yarn.DebtEnded), owed("root.a", "", yarn.DebtOwed))
	if again, _ := s.Debts.To(queue, 0); again.Overdue || again.SinceMillis != s.Meta.NowMillis {
		t.Errorf("after it ended the debt is %+v, it is %d", again, s.Meta.NowMillis)
	}
	apply(t, s, owed("root.a", "", yarn.DebtEnded), owed("root.a", "gpu", yarn.DebtEnded))
	if s.Debts.Len() != 0 {
		t.Errorf("%d queues have debts, none is owed", s.Debts.Len())
	}
}

// TestDebtsThatDoNotFit checks that Apply rejects debts that do not fit the state.
func TestDebtsThatDoNotFit(t *testing.T) {
	for name, e := range map[string]event.Event{
		"of no queue":        owed("root.zzz", "", yarn.DebtOwed),
		"of no label":        owed("root.b.x", "zzz", yarn.DebtOwed),
		"without a value":    owed("root.b.x", "", 0),
		"begins twice":       owed("root.a", "", yarn.DebtOwed),
		"ends before it was": owed("root.b.x", "", yarn.DebtEnded),
		"late before it was": owed("root.b.x", "", yarn.DebtOverdue),
		"kept of no queue":   keeps("root.zzz", "", 1),
		"kept of no label":   keeps("root.a", "zzz", 1),
		"kept no more":       keeps("root.a", "", 0),
		"kept below zero":    &event.GuaranteeKept{Path: "root.a", Size: yarn.NewResource(-1, 0)},
		"kept from tomorrow": &event.GuaranteeKept{Path: "root.a", Size: yarn.NewResource(1, 0), ReachedMillis: 1 << 60},
	} {
		s := indebted(t)
		before := encode(s)
		if err := s.Apply(e); err == nil || string(encode(s)) != string(before) {
			t.Errorf("a debt that %s: %v", name, err)
		}
	}
}
