package state

import (
	"bytes"
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// namesOf returns the names in the state.
func namesOf(s *State) (out []string) {
	s.Names.Each(func(_ NameSlot, n *Name) bool { out = append(out, n.Text); return true })
	slices.Sort(out)
	return out
}

func near(name string, count int64) *event.AskChanged {
	e := ask(1, k1, count, 1)
	e.Name = name
	return e
}

// TestNamesLeave checks that a name leaves the state with the last record that refers to it, also in
// a state from a snapshot, and that both then give its number to the same name.
func TestNamesLeave(t *testing.T) {
	forget := []event.Event{&event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppKilled},
		&event.ApplicationForgotten{App: 1}}
	for name, c := range map[string]struct {
		events []event.Event
		left   []string // beyond the names of the world
	}{
		"ask":                 {[]event.Event{near("x", 1), near("/y", 1)}, []string{"/y", "x"}},
		"ask taken back":      {[]event.Event{near("x", 1), near("x", 0)}, nil},
		"ask for nothing":     {[]event.Event{near("x", 0)}, nil},
		"ask for a node":      {[]event.Event{near("h1", 1), near("h1", 0)}, nil},
		"all asks taken back": {[]event.Event{near("x", 1), near("y", 1), ask(1, k1, 0, 1)}, nil},
		"attempt ended": {[]event.Event{near("x", 1), &event.BlacklistChanged{App: 1, Add: []string{"y"}},
			forget[0]}, nil},
		"attempt resynced": {[]event.Event{&event.ResponseRecorded{App: 1, Response: 1},
			&event.BlacklistChanged{App: 1, Add: []string{"y"}}, &event.AttemptResynced{App: 1}}, nil},
		"blacklist": {[]event.Event{&event.BlacklistChanged{App: 1, Add: []string{"x", "y", "x"}},
			&event.BlacklistChanged{App: 1, Add: []string{"x"}, Remove: []string{"z"}}}, []string{"x", "y"}},
		"blacklist taken back": {[]event.Event{&event.BlacklistChanged{App: 1, Add: []string{"x", "x"}},
			&event.BlacklistChanged{App: 1, Remove: []string{"x", "z"}}}, nil},
		"asked for and blacklisted": {[]event.Event{near("x", 1), &event.BlacklistChanged{App: 1, Add: []string{"x"}},
			near("x", 0)}, []string{"x"}},
		"user forgotten": {[]event.Event{submit(3, "eve", "root.a"),
			&event.ApplicationEnded{App: 3, State: yarn.AppKilled}, &event.ApplicationForgotten{App: 3}}, nil},
		"user of another application": {append([]event.Event{submit(3, "ann", "root.b.y")}, forget...), nil},
		"node in another rack": {[]event.Event{
			&event.NodeRegistered{Node: 3, ID: yarn.NodeID{Host: "h3", Port: 1}, Rack: "/x"}, nodeUp(3, "h3", gb(8))},
			[]string{"/r3", "h3"}},
		"node in a rack that is asked": {[]event.Event{near("/x", 1),
			&event.NodeRegistered{Node: 3, ID: yarn.NodeID{Host: "h3", Port: 1}, Rack: "/x"}, nodeUp(3, "h3", gb(8))},
			[]string{"/r3", "/x", "h3"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			apply(t, s, ask(1, k1, 5, 1))
			want := append(namesOf(s), c.left...)
			slices.Sort(want)
			apply(t, s, c.events...)
			if got := namesOf(s); !slices.Equal(got, want) {
				t.Errorf("the names are %q, want %q", got, want)
			}
			r, err := decode(encode(s))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*State{s, r} {
				apply(t, s, nodeUp(s.Nodes.Next(), "new9", gb(4)), &event.BlacklistChanged{App: 2, Add: []string{"p", "q"}},
					&event.BlacklistChanged{App: 2, Remove: []string{"p"}})
			}
			if !bytes.Equal(encode(s), encode(r)) || s.Digest() != r.Digest() {
				t.Error("the restored state goes on differently")
			}
		})
	}
}

// TestLengthsOfAnotherUser checks that a user does not get the history of an earlier user whose name
// had the same number.
func TestLengthsOfAnotherUser(t *testing.T) {
	s := world(t)
	for range enoughLengths {
		runs(t, s, 5000, yarn.ExitSuccess)
	}
	keys, id := s.lengthKeys(appAt(t, s, 1)), appAt(t, s, 1).User
	apply(t, s, &event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppKilled})
	apply(t, s, &event.ApplicationForgotten{App: 1}, submit(3, "eve", "root.a"))
	if got := appAt(t, s, 3).User; got != id {
		t.Fatalf("the next user has the number %d, want %d", got, id)
	}
	if got := s.lengthKeys(appAt(t, s, 3)); got[1] != keys[1] || got[2] == keys[2] || got[3] == keys[3] {
		t.Errorf("eve's histories are %v, ann's were %v", got, keys)
	}
}
