package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

func placedBy(app, rule uint32) *event.ApplicationPlaced {
	return &event.ApplicationPlaced{App: app, Rule: rule, Text: "u:%user:root.%user", Why: "there is no queue", For: "eve"}
}

// TestPlacement checks that the state and its snapshots keep the rule that placed an application
// until the application is moved or forgotten.
func TestPlacement(t *testing.T) {
	s := world(t)
	apply(t, s, submit(3, "ann", "root.a"), submit(4, "ann", "root.a"))
	for _, e := range []event.Event{placedBy(9, 1), placedBy(3, 0), placedBy(1, 1)} {
		refuse(t, s, e)
	}
	apply(t, s, placedBy(3, 2), placedBy(4, 1))
	refuse(t, s, placedBy(3, 2)) // twice
	back, err := decode(encode(s))
	if err != nil || back.Digest() != s.Digest() {
		t.Fatal("restored:", err)
	}
	want := Placement{Rule: 2, Text: "u:%user:root.%user", Why: "there is no queue", For: "eve"}
	for _, st := range []*State{s, s.Fork(), back} {
		if got := st.Placements.Of(st.Apps.Find(3)); got == nil || *got != want {
			t.Errorf("application 3 was placed by %+v", got)
		}
		if got := st.Placements.Of(st.Apps.Find(1)); got != nil {
			t.Errorf("no rule placed application 1: %+v", got)
		}
	}
	apply(t, s, &event.ApplicationMoved{App: 3, Queue: "root.b.x"}, &event.ApplicationEnded{App: 4, State: yarn.AppKilled})
	if s.Placements.Of(s.Apps.Find(3)) != nil || s.Placements.Of(s.Apps.Find(4)) == nil {
		t.Error("a move ends what a rule said, and the end of an application does not")
	}
	apply(t, s, &event.ApplicationForgotten{App: 4})
	if s.Placements.Len() != 0 {
		t.Errorf("%d placements are left", s.Placements.Len())
	}
}

func TestPlacementDigests(t *testing.T) {
	s := world(t)
	apply(t, s, submit(3, "ann", "root.a"), submit(4, "ann", "root.a"))
	for name, change := range map[string]func(e *event.ApplicationPlaced){
		"application": func(e *event.ApplicationPlaced) { e.App = 4 },
		"rule":        func(e *event.ApplicationPlaced) { e.Rule = 2 },
		"text":        func(e *event.ApplicationPlaced) { e.Text = "x" },
		"why":         func(e *event.ApplicationPlaced) { e.Why = "" },
		"for":         func(e *event.ApplicationPlaced) { e.For = "bob" },
	} {
		a, b, e := s.Fork(), s.Fork(), placedBy(3, 1)
		apply(t, a, placedBy(3, 1))
		change(e)
		apply(t, b, e)
		if a.Digest() == b.Digest() || a.Digest() == s.Digest() {
			t.Errorf("%s: two histories have one digest", name)
		}
	}
}

// TestCheckSeesPlacements damages placements.
func TestCheckSeesPlacements(t *testing.T) {
	for name, spoil := range map[string]func(s *State){
		"no rule":        func(s *State) { table.Place(&s.Placements.Table, s.Apps.Find(1)) },
		"no application": func(s *State) { table.Place(&s.Placements.Table, 99).Rule = 1 },
	} {
		s := world(t)
		if spoil(s); s.Check() == nil {
			t.Errorf("%s passes the check", name)
		}
	}
}
