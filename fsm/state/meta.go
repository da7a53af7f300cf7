package state

import (
	"rmd/fsm/state/check"
	"rmd/internal/codec"
)

var metaPart = derived{part: single(1, "meta", func(s *State, c *codec.Coder) { s.Meta.Code(c); s.AppTokens.Counters(c) }),
	agrees: agrees((*check.Tables).CheckMeta)}
