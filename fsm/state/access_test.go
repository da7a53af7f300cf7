package state

import (
	"bytes"
	"errors"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// accessHash returns a hash that consists of one repeated byte.
func accessHash(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func accessSet(name string, b byte, role yarn.Role) *event.AccessTokenSet {
	return &event.AccessTokenSet{Name: name, Hash: accessHash(b), Role: role, ExpiresMillis: 9000, By: "ann"}
}

func TestAccessTokens(t *testing.T) {
	s := world(t)
	apply(t, s, accessSet("ci", 1, yarn.RoleSubmit), accessSet("boss", 2, yarn.RoleAdmin))
	f := s.Fork()
	apply(t, s, &event.TimeAdvanced{NowMillis: 2000}, accessSet("ci", 3, yarn.RoleOperator),
		&event.AccessTokenRevoked{Name: "boss"})
	ci, ok := s.Access.Find("ci")
	if !ok || ci.Role != yarn.RoleOperator || ci.CreatedMillis != 1000 || ci.ChangedMillis != 2000 || ci.By != "ann" ||
		ci.ExpiresMillis != 9000 {
		t.Errorf("replaced: %+v", ci)
	}
	for b, want := range map[byte]string{1: "", 2: "", 3: "ci"} {
		if got, _ := s.Access.ByHash(accessHash(b)); got.Name != want {
			t.Errorf("hash %d is of %q, want %q", b, got.Name, want)
		}
	}
	if got, ok := f.Access.ByHash(accessHash(2)); !ok || got.Name != "boss" || len(f.Access) != 2 {
		t.Errorf("the fork has changed: %+v", f.Access)
	}
	if ci.Expired(8999) || !ci.Expired(9000) {
		t.Error("a token ends at its end")
	}
	apply(t, s, &event.AccessTokenRevoked{Name: "ci"})
	if len(s.Access) != 0 {
		t.Errorf("%+v is left", s.Access)
	}
}

func TestAutopilotInSnapshot(t *testing.T) {
	s := world(t)
	apply(t, s, &event.AutopilotSet{CleanupDeadServers: true, DeadServerMillis: 60_000, MinQuorum: 3,
		LastContactMillis: 5000, MaxTrailingLogs: 10, StabilizationMillis: 7})
	want := Autopilot{Set: true, CleanupDeadServers: true, DeadServerMillis: 60_000, MinQuorum: 3, LastContactMillis: 5000,
		MaxTrailingLogs: 10, StabilizationMillis: 7}
	apply(t, s, accessSet("a", 1, yarn.RoleRead))
	back, err := decode(encode(s))
	if err != nil {
		t.Fatal(err)
	}
	if back.Autopilot != want || len(back.Access) != 1 || back.Access[0].ChangedMillis != 1000 {
		t.Errorf("decode: autopilot %+v, tokens %+v, want autopilot %+v and one token changed at 1000",
			back.Autopilot, back.Access, want)
	}
}

func TestAccessRefusals(t *testing.T) {
	with := func(change func(*event.AccessTokenSet)) *event.AccessTokenSet {
		e := accessSet("b", 7, yarn.RoleRead)
		change(e)
		return e
	}
	for name, e := range map[string]event.Event{
		"no name":        with(func(e *event.AccessTokenSet) { e.Name = "" }),
		"no role":        with(func(e *event.AccessTokenSet) { e.Role = 0 }),
		"role not known": with(func(e *event.AccessTokenSet) { e.Role = 5 }),
		"short hash":     with(func(e *event.AccessTokenSet) { e.Hash = []byte{1} }),
		"hash twice":     with(func(e *event.AccessTokenSet) { e.Hash = accessHash(1) }),
		"revoke nobody":  &event.AccessTokenRevoked{Name: "x"},
		"autopilot":      &event.AutopilotSet{},
	} {
		s := world(t)
		apply(t, s, accessSet("a", 1, yarn.RoleAdmin))
		before := encode(s)
		var b *BrokenError
		if err := s.Apply(e); !errors.As(err, &b) || !bytes.Equal(before, encode(s)) {
			t.Errorf("%s: Apply: %v, want a BrokenError and the state unchanged", name, err)
		}
	}
	s := world(t)
	for i := range MaxAccessTokens {
		h := accessHash(1)
		h[0], h[1] = byte(i), byte(i>>8)
		apply(t, s, &event.AccessTokenSet{Name: string(rune('a'+i%26)) + string(h[:2]), Hash: h, Role: yarn.RoleRead})
	}
	if err := s.Apply(accessSet("one more", 1, yarn.RoleRead)); err == nil {
		t.Error("a thousand and one tokens")
	}
}

func TestCheckFindsAccessDamage(t *testing.T) {
	for name, spoil := range map[string]func(*State){
		"order":     func(s *State) { s.Access[0], s.Access[1] = s.Access[1], s.Access[0] },
		"twice":     func(s *State) { s.Access[1] = s.Access[0] },
		"role":      func(s *State) { s.Access[0].Role = 9 },
		"hash":      func(s *State) { s.Access[0].Hash = nil },
		"autopilot": func(s *State) { s.Autopilot.MinQuorum = 3 },
	} {
		s := world(t)
		apply(t, s, accessSet("a", 1, yarn.RoleRead), accessSet("b", 2, yarn.RoleRead))
		spoil(s)
		if err := s.Check(); !errors.Is(err, ErrInconsistent) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}

func TestDigestTellsAccessApart(t *testing.T) {
	seen := map[uint64]string{}
	base := accessSet("a", 1, yarn.RoleRead)
	for name, change := range map[string]func(*event.AccessTokenSet){
		"as it is": func(*event.AccessTokenSet) {},
		"name":     func(e *event.AccessTokenSet) { e.Name = "b" },
		"hash":     func(e *event.AccessTokenSet) { e.Hash = accessHash(2) },
		"role":     func(e *event.AccessTokenSet) { e.Role = yarn.RoleAdmin },
		"end":      func(e *event.AccessTokenSet) { e.ExpiresMillis++ },
		"by":       func(e *event.AccessTokenSet) { e.By = "x" },
	} {
		s, e := world(t), *base
		change(&e)
		apply(t, s, &e)
		if other, ok := seen[s.Digest()]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[s.Digest()] = name
	}
}
