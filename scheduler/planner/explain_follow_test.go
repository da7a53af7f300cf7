package planner

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestExplainerFollows checks that an explainer that follows the state gives the same answers as a
// new one, for every application, after any history, and also when it goes back to an older state.
func TestExplainerFollows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, rapid.Bool().Draw(t, "labels"))
		do := m.actions()
		x, seen := &explain.Explainer{}, []*state.State{}
		do["explain"] = func(t *rapid.T) {
			st := m.p.st.Fork()
			if seen = append(seen, st); rapid.IntRange(0, 4).Draw(t, "back") == 0 {
				st = seen[rapid.IntRange(0, len(seen)-1).Draw(t, "to")]
			}
			explainsLikeANewOne(t, x, st)
		}
		t.Repeat(do)
	})
}

func explainsLikeANewOne(t *rapid.T, x *explain.Explainer, st *state.State) {
	before := st.Digest()
	fresh := must(New(st, Options{}))
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		got, err := x.Explain(st, a.ID)
		want, other := explain.Application(fresh.sched, a.ID)
		if (err == nil) != (other == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: it follows to\n%+v, %v\nand a new one says\n%+v, %v", a.ID, got, err, want, other)
		}
		return true
	})
	if st.Digest() != before {
		t.Fatal("the question changed the state")
	}
}

// BenchmarkExplain explains why an application waits on a full cluster of 10,000 nodes and 100,000
// applications. Each state is some heartbeats newer than the one before. The budget is 3 ms.
func BenchmarkExplain(b *testing.B) {
	w := newPlant(b, plantSize{nodes: 10_000, leaves: 100, apps: 1_000, perNode: 4}, Options{})
	w.demand(b, yarn.NewResource(2048, 1))
	for range 3 * len(w.nodes) {
		w.turn(b)
	}
	for i := range 99_000 {
		w.must(b, &input.SubmitApplication{User: "u", Queue: fmt.Sprintf("root.q%d", i%100), Unmanaged: true})
	}
	x := &explain.Explainer{}
	for name, id := range map[string]yarn.AttemptID{"Waiting": w.apps[7]} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for range 16 {
					w.turn(b)
				}
				st := w.p.st.Fork()
				b.StartTimer()
				if doc, err := x.Explain(st, id.App); err != nil || !doc.Waiting {
					b.Fatalf("Explain(%s) = %+v, %v, want an application that waits", id.App, doc, err)
				}
			}
		})
	}
	b.Run("New", func(b *testing.B) {
		for b.Loop() {
			if _, err := (&explain.Explainer{}).Explain(w.p.st.Fork(), w.apps[7].App); err != nil {
				b.Fatal(err)
			}
		}
	})
}
