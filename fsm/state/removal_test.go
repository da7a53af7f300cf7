package state

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// forgettable returns nodeManagers. The AM of app 1 has received the completions
// of containers 1 and 2 on node 1, and of container 3 on node 2, and not acknowledged them.
func forgettable(t failer) *State {
	s := nodeManagers(t)
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 1}, &event.ResponseRecorded{App: 1, Response: 2})
	for n := range uint64(3) {
		apply(t, s, &event.ContainerCompleted{Container: ref(1, n+1)})
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 3})
	return s
}

func removals(s *State, node NodeSlot) (out []uint64) {
	_, list := s.Removals(node)
	for _, id := range list {
		out = append(out, id.Number)
	}
	slices.Sort(out)
	return out
}

// TestRemovals follows containers from their completion until the node acknowledges their removal.
func TestRemovals(t *testing.T) {
	s := forgettable(t)
	if got := removals(s, 1); got != nil {
		t.Errorf("%v are listed before the AM has confirmed", got)
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 4})
	if a, b := removals(s, 1), removals(s, 2); !slices.Equal(a, []uint64{1, 2}) || !slices.Equal(b, []uint64{3}) {
		t.Errorf("listed are %v and %v", a, b)
	}
	back, err := decode(encode(s))
	if err != nil || !bytes.Equal(encode(back), encode(s)) || !slices.Equal(removals(back, 1), []uint64{1, 2}) {
		t.Errorf("from a snapshot: %v, %v", removals(back, 1), err)
	}
	apply(t, s, &event.RemovalsAcked{Node: 1, Through: 1})
	apply(t, s, &event.RemovalsAcked{Node: 1, Through: 2})
	if first, list := s.Removals(1); first != 3 || len(list) != 0 {
		t.Errorf("acknowledged; left are %v from %d on", list, first)
	}
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 4)}, &event.ResponseRecorded{App: 1, Response: 5},
		&event.ResponseRecorded{App: 1, Response: 6})
	if got := removals(s, 3); got != nil {
		t.Errorf("%v are listed for a simulated node", got)
	}
	apply(t, s, &event.NodeStateChanged{Node: 2, State: yarn.NodeLost})
	if first, list := s.Removals(2); first != 2 || len(list) != 0 {
		t.Errorf("%v are listed for a lost node, from %d on", list, first)
	}
}

// TestRemovalsOfAnAttemptThatIsOver checks that the containers of an ended attempt are listed
// without an acknowledgement, and that its AM's container is listed too.
func TestRemovalsOfAnAttemptThatIsOver(t *testing.T) {
	s := forgettable(t)
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 4)}, &event.AttemptEnded{App: 1})
	if got := removals(s, 1); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("listed are %v", got)
	}
}

func TestRemovalsAreBounded(t *testing.T) {
	s := forgettable(t)
	c, a := *s.Containers.Get(s.Container(ref(1, 1))), s.Apps.Mut(s.Apps.Find(1))
	for n := range uint64(MaxRemovals + 5) {
		c.Number = n + 10
		s.listRemoval(&c, a)
	}
	if first, list := s.Removals(1); first != 6 || len(list) != MaxRemovals || list[0].Number != 15 || s.Check() != nil {
		t.Errorf("%d are listed from %d on, the first is %v; %v", len(list), first, list[0], s.Check())
	}
}

// TestRemovalsOfForks checks that a list grows in place only in the state that made it, so that
// forks do not see each other's entries.
func TestRemovalsOfForks(t *testing.T) {
	s := forgettable(t)
	list := func(s *State, number uint64) {
		c := *s.Containers.Get(s.Container(ref(1, 1)))
		c.Number = number
		s.listRemoval(&c, s.Apps.Mut(s.Apps.Find(1)))
	}
	list(s, 1)
	list(s, 2)
	list(s, 3) // the slice has capacity for a fourth
	a, b := s.Fork(), s.Fork()
	list(s, 4)
	list(a, 5)
	c := a.Fork()
	list(a, 6)
	list(b, 7)
	for _, l := range []struct {
		of   *State
		want []uint64
	}{{s, []uint64{1, 2, 3, 4}}, {a, []uint64{1, 2, 3, 5, 6}}, {b, []uint64{1, 2, 3, 7}}, {c, []uint64{1, 2, 3, 5}}} {
		if got := removals(l.of, 1); !slices.Equal(got, l.want) {
			t.Errorf("%v are listed instead of %v", got, l.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { list(b, 8) }); n > 0.5 {
		t.Errorf("a further container costs %v allocations", n)
	}
}

func TestRemovalsAckedIsRefused(t *testing.T) {
	s := forgettable(t)
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 4}, &event.RemovalsAcked{Node: 1, Through: 1})
	for name, e := range map[string]event.Event{
		"by an unknown node": &event.RemovalsAcked{Node: 9, Through: 1},
		"of nothing":         &event.RemovalsAcked{Node: 3, Through: 1},
		"twice":              &event.RemovalsAcked{Node: 1, Through: 1},
		"what is not listed": &event.RemovalsAcked{Node: 1, Through: 3},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, s.Fork(), e) })
	}
}

func TestDamageToRemovalsIsSeen(t *testing.T) {
	for name, spoil := range map[string]func(s *State, r *Removals){
		"unknown node":          func(_ *State, r *Removals) { r.Node = 99 },
		"node of another":       func(_ *State, r *Removals) { r.Node = 3 },
		"two lists of one node": func(s *State, r *Removals) { _, x := table.Alloc(&s.Removable); *x = *r },
		"number":                func(_ *State, r *Removals) { r.First = 0 },
		"too many":              func(_ *State, r *Removals) { r.Containers = make([]yarn.ContainerID, MaxRemovals+1) },
		"node that is not told": func(s *State, r *Removals) { s.Nodes.Mut(r.Node).State = yarn.NodeLost },
	} {
		t.Run(name, func(t *testing.T) {
			s := forgettable(t)
			apply(t, s, &event.ResponseRecorded{App: 1, Response: 4})
			spoil(s, s.Removable.Mut(s.Nodes.Get(2).Removals))
			if err := s.Check(); !errors.Is(err, ErrInconsistent) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

func TestDigestTellsRemovalsApart(t *testing.T) {
	s := forgettable(t)
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 4})
	a, b := s.Fork(), s.Fork()
	apply(t, a, &event.RemovalsAcked{Node: 1, Through: 1})
	apply(t, b, &event.RemovalsAcked{Node: 1, Through: 2})
	if a.Digest() == b.Digest() {
		t.Error("how many were acknowledged is not in the digest")
	}
}
