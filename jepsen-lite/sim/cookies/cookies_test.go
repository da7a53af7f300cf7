package cookies

import (
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// TestRoll rolls the key of delegation tokens. It compares a replica that follows the log, and finds
// replicas that have another key or keep an old one.
func TestRoll(t *testing.T) {
	st, c := state.New(), new(Cookies)
	faults := func(st *state.State) (n int) {
		c.Differ(st, func(text string) {
			t.Log(text)
			n++
		})
		return n
	}
	apply := func(events ...event.Event) {
		t.Helper()
		for _, e := range events {
			if err := st.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		c.Follow(events)
		if n := faults(st); n != 0 {
			t.Fatalf("%d faults at a replica that follows the log", n)
		}
	}
	create := func(which yarn.KeyKind, id int32) event.Event {
		return &event.MasterKeyCreated{Which: which, ID: id, Bytes: []byte{byte(id)}, ActivateMillis: 1}
	}
	activate := func(which yarn.KeyKind) event.Event { return &event.KeyActivated{Which: which} }
	apply()
	apply(create(yarn.KeyDelegation, 1))
	apply(create(yarn.KeyNM, 2), create(yarn.KeyNM, 3), activate(yarn.KeyNM))
	before := st.Fork()
	for id := range int32(2 * keep) {
		apply(create(yarn.KeyDelegation, 4+id))
		apply(activate(yarn.KeyDelegation))
		if id == 1 && faults(before) != 3 { // it accepts the first, and refuses the two that are valid
			t.Error("an old key is not found")
		}
	}
	other := st.Fork()
	other.Keys(yarn.KeyDelegation).Current.Bytes = []byte("other")
	if n := faults(other); n != 1 {
		t.Errorf("%d faults at a replica with another key", n)
	}
}
