package forecast

import (
	"reflect"
	"slices"
	"testing"

	"rmd/analysis/runner"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// TestForkOfPlanner checks that a fork of a planner decides as a new planner on the same state does,
// and changes neither the planner that it was forked from nor its state.
func TestForkOfPlanner(t *testing.T) {
	c := newCluster(t)
	for _, host := range []string{"n2", "n3"} {
		c.do(&input.RegisterNode{ID: yarn.NodeID{Host: host, Port: 1}, Rack: "/r", Total: yarn.NewResource(16384, 16)})
	}
	for i := range int64(12) {
		c.app("root.a", 3, 1024*(1+i%5), 0)
	}
	st := c.p.State()
	before := st.Digest()
	fresh, err := planner.New(st.Fork(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	sides := []*planner.Planner{fresh, c.p.Fork(), c.p.Fork()}
	var refs []event.ContainerRef
	st.Containers.Each(func(_ state.ContainerSlot, k *state.Container) bool {
		refs = append(refs, st.Apps.Ref(k))
		return true
	})
	decisions := make([][]event.Event, len(sides))
	for _, ref := range refs {
		c.now += 1_000
		for i, p := range sides {
			in := runner.Completion(p.State(), ref)
			if in == nil {
				t.Fatalf("side %d has no container %+v", i, ref)
			}
			_, decisions[i] = p.Plan(c.now, input.Request{Input: in})
			decisions[i] = slices.Clone(decisions[i])
		}
		if !reflect.DeepEqual(decisions[0], decisions[1]) || !reflect.DeepEqual(decisions[1], decisions[2]) {
			t.Fatalf("after the end of %+v: %+v", ref, decisions)
		}
	}
	if len(refs) < 10 || sides[0].State().Digest() != sides[1].State().Digest() || st.Digest() != before {
		t.Errorf("%d ends; the forks have %x and %x, the state %x, before %x", len(refs), sides[0].State().Digest(),
			sides[1].State().Digest(), st.Digest(), before)
	}
	// The lists of the planner itself are still those of its state.
	again, err := planner.New(st.Fork(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	in := runner.Completion(st, refs[0])
	_, want := again.Plan(c.now, input.Request{Input: in})
	if _, got := c.p.Plan(c.now, input.Request{Input: in}); !reflect.DeepEqual(got, want) {
		t.Errorf("the planner decides %+v after its forks, want %+v", got, want)
	}
}
