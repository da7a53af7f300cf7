package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/part"
	"rmd/internal/codec"
)

var _ = applies(func(s *State, e *event.AccessTokenSet) error { return s.Access.Set(&s.Meta, e) })
var _ = applies(func(s *State, e *event.AccessTokenRevoked) error { return s.Access.Revoked(&s.Meta, e) })
var _ = applies(func(s *State, e *event.AutopilotSet) error { return s.Autopilot.Change(&s.Meta, e) })

var _ = stored(1, part.Derived[State]{Part: part.Single(20, "access-tokens",
	func(s *State, c *codec.Coder) { s.Access.Code(c) }),
	Agrees: func(s *State) error { return s.Access.Check() }})

var _ = stored(1, part.Derived[State]{Part: part.Single(21, "autopilot",
	func(s *State, c *codec.Coder) { s.Autopilot.Code(c) }),
	Agrees: func(s *State) error { return s.Autopilot.Check() }})
