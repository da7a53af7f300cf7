package state

import (
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/internal/codec"
	"rmd/yarn"
)

// noteEnd remembers the node of a container that ends with an exit status, if its ask should avoid
// the node.
func (s *Running) noteEnd(c *Container, exit int32) {
	now := s.Meta.NowMillis
	givenBack := exit == yarn.ExitAborted && (!c.Launched || now-c.AllocatedMillis < GivenBackMillis)
	if !givenBack && !yarn.NotStarted(exit) {
		return
	}
	v := Avoided{App: s.Apps.Get(c.App).ID.Seq, Key: c.Key, Node: c.Node, UntilMillis: now + AvoidMillis}
	s.Avoided.Add(v, now)
	s.fold(uint64(v.App)<<32 | uint64(v.Node))
	s.fold(uint64(v.UntilMillis))
}

var _ = stored(1, part.Derived[State]{Part: part.Single(39, "avoided",
	func(s *State, c *codec.Coder) { s.Avoided.Code(c) }),
	Agrees: agrees((*check.Tables).CheckAvoided)})
