package scheduler

import (
	"slices"

	"rmd/fsm/state"
)

// An ask avoids a node on which its last container did not start (see fsm/state/avoid.go). Eager
// passes try such a node only after the others. It is not forbidden: when the others are full, the
// ask gets it in the same input, and the heartbeat of the node serves the ask as in YARN.

// avoids reports whether an ask prefers other nodes.
func (s *Scheduler) avoids(k *state.Ask, node uint32) bool {
	return len(s.st.Avoided) > 0 && k.IncreaseOf == 0 && s.st.Avoids(s.st.Apps.Get(k.App).ID.Seq, k.Key, node, s.now)
}

// passesOver reports whether the current pass must not serve an ask on a node, because other nodes
// are tried first. After them, passes for the application may use any node.
func (s *Scheduler) passesOver(k *state.Ask, node uint32) bool {
	if !s.prefers || !s.avoids(k, node) {
		return false
	}
	if !s.passedOver(node) {
		s.avoided = append(s.avoided, node)
	}
	if !slices.Contains(s.later, k.App) {
		s.later = append(s.later, k.App)
	}
	return true
}

// passedOver reports whether an ask has avoided a node in these passes.
func (s *Scheduler) passedOver(node uint32) bool { return s.prefers && slices.Contains(s.avoided, node) }

// PreferringPass is EagerPass without the asks that avoid the node.
func (s *Scheduler) PreferringPass(node uint32) bool {
	s.prefers = true
	granted := s.EagerPass(node)
	s.endPreference()
	return granted
}

// endPreference lets asks use the nodes that they avoid, and returns the applications that wait for
// that.
func (s *Scheduler) endPreference() (later []uint32) {
	later = s.later
	s.prefers, s.avoided, s.later = false, s.avoided[:0], nil
	return later
}
