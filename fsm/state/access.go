package state

import (
	"rmd/fsm/event"
	"rmd/internal/codec"
)

var _ = applies(func(s *State, e *event.AccessTokenSet) error { return s.Access.Set(&s.Meta, e) })

var _ = applies(func(s *State, e *event.AccessTokenRevoked) error { return s.Access.Revoked(&s.Meta, e) })

var _ = applies(func(s *State, e *event.AutopilotSet) error { return s.Autopilot.Change(&s.Meta, e) })

var accessPart = derived{part: single(20, "access-tokens", func(s *State, c *codec.Coder) { s.Access.Code(c) }),
	agrees: func(s *State) error { return s.Access.Check() }}

var autopilotPart = derived{part: single(21, "autopilot", func(s *State, c *codec.Coder) { s.Autopilot.Code(c) }),
	agrees: func(s *State) error { return s.Autopilot.Check() }}
