package clientkeys

import (
	"bytes"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// TestRepeated checks that a key which two attempts have is found, and that each call has others.
func TestRepeated(t *testing.T) {
	id := yarn.AttemptID{Attempt: 1}
	k := New(true)
	one, two := k.Entropy(id, 1), k.Entropy(id, 2)
	if len(one) != 32 || bytes.Equal(one, two) || New(false).Entropy(id, 1) != nil {
		t.Errorf("the random bytes are %x and %x", one, two)
	}
	found := func() (n int) {
		k.Differ(state.New(), func(string) { n++ })
		return n
	}
	k.Follow([]event.Event{&event.AttemptRegistered{App: 1, ClientKey: one},
		&event.AttemptRegistered{App: 2, ClientKey: two}})
	if n := found(); n != 0 {
		t.Errorf("%d faults in a right log", n)
	}
	k.Follow([]event.Event{&event.AttemptRegistered{App: 3, ClientKey: one}})
	if n := found(); n != 1 {
		t.Errorf("%d faults when two attempts have one key", n)
	}
}
