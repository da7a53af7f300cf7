package state

import (
	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/fsm/state/part"
	"rmd/internal/codec"
)

// appTokens is the part with the tokens of applications. Package apptoken has its rules.
var _ = stored(1, ledgerPart{part.Copied[State]{Contents: Section{
	ID: 41, Name: "app-tokens",
	Len: func(s *State) int { return s.AppTokens.Records() },
	Each: func(s *State, f func(slot uint32) bool) {
		for i := range s.AppTokens.Records() {
			if !f(uint32(i) + 1) {
				return
			}
		}
	},
	Code: func(s *State, slot uint32, c *codec.Coder) { s.AppTokens.Code(slot, c) },
}}})

type ledgerPart struct{ part.Copied[State] }

func (ledgerPart) Check(s *State) error {
	return s.AppTokens.Check(func(app uint32) bool { return s.Apps.Find(app) != 0 })
}

var _ = func() struct{} {
	for _, k := range apptoken.Kinds {
		appliers[k] = tokensChanged
	}
	return struct{}{}
}()

func tokensChanged(s *State, e event.Event) error {
	runs := func(app uint32) bool { return s.Apps.Find(app) != 0 && !s.Apps.Get(s.Apps.Find(app)).State.Ended() }
	hash, why := s.AppTokens.Apply(e, s.Meta.NowMillis, runs)
	if why != "" {
		return broken(e, "%s", why)
	}
	s.fold(hash)
	return nil
}
