package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/internal/codec"
)

var _ = stored(1, part.Derived[State]{Part: part.Single(1, "meta", func(s *State, c *codec.Coder) {
	s.Meta.Code(c)
	s.AppTokens.Counters(c)
}),
	Agrees: agrees((*check.Tables).CheckMeta)})
var _ = stored(1, part.Single(3, "join-tokens", func(s *State, c *codec.Coder) { s.JoinTokens.Code(c) }))
var _ = applies(func(s *State, e *event.TimeAdvanced) error { return s.Meta.TimeAdvanced(e) })
var _ = applies(func(s *State, e *event.ClusterInitialized) error { return s.Meta.ClusterInitialized(e) })
var _ = applies(func(s *State, e *event.LevelRaised) error { return s.Meta.LevelRaised(e) })
var _ = applies((*State).epochRaised)

func (s *Running) epochRaised(e *event.EpochRaised) error {
	if e.Epoch <= s.Meta.Epoch {
		return broken(e, "the epoch is %d already", s.Meta.Epoch)
	}
	s.Meta.Epoch = e.Epoch
	s.Meta.ClusterTimestamp = e.ClusterTimestamp
	s.Meta.SkipSecrets(e.Epoch)
	s.fold(uint64(e.Epoch))
	s.fold(uint64(e.ClusterTimestamp))
	s.renumberReservations()
	return nil
}

var _ = applies(func(s *State, e *event.JoinTokenCreated) error { return s.JoinTokens.Created(&s.Meta, e) })
var _ = applies(func(s *State, e *event.JoinTokenUsed) error { return s.JoinTokens.Used(&s.Meta, e) })
var _ = applies(func(s *State, e *event.JoinTokensExpired) error { return s.JoinTokens.Expired(&s.Meta, e) })
