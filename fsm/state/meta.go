package state

import (
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/internal/codec"
)

var _ = stored(1, part.Derived[State]{Part: part.Single(1, "meta", func(s *State, c *codec.Coder) {
	s.Meta.Code(c)
	s.AppTokens.Counters(c)
}),
	Agrees: agrees((*check.Tables).CheckMeta)})
