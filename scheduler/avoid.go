package scheduler

import (
	"slices"

	"rmd/fsm/state"
)

// An ask avoids a node on which its last container did not start (see fsm/state/avoid.go). Eager
// passes try such a node only after the others. It is not forbidden: when the others are full, the
// ask gets it in the same input, and the heartbeat of the node serves the ask as in YARN.

// preference is what passes note that leave out asks on nodes that they avoid.
type preference struct {
	here  bool     // some ask avoids the node of the current pass
	nodes []uint32 // on which asks were left out
	apps  []uint32 // the applications of these asks
}

// avoids reports whether an ask prefers other nodes.
func (s *Scheduler) avoids(k *state.Ask, node uint32) bool {
	return k.IncreaseOf == 0 && s.st.Avoids(s.st.Apps.Get(k.App).ID.Seq, k.Key, node, s.now)
}

// preferOthers runs the eager passes without asks on nodes that they avoid, and records the
// applications of these asks for passes on any node.
func (s *Scheduler) preferOthers(budget *eagerBudget) {
	if len(s.st.Avoided) == 0 {
		return
	}
	s.prefer = &preference{}
	s.runEagerPasses(budget)
	apps := s.prefer.apps
	s.prefer = nil
	for _, app := range apps {
		s.AsksMore(app)
	}
}

// PreferringPass is EagerPass without the asks that avoid the node.
func (s *Scheduler) PreferringPass(node uint32) bool {
	s.prefer = &preference{}
	granted := s.EagerPass(node)
	s.prefer = nil
	return granted
}

// lookForAvoiding finds out once for a pass whether any ask avoids the node, because a pass may offer
// the node to thousands of asks.
func (s *Scheduler) lookForAvoiding(node uint32) {
	if s.prefer != nil {
		s.prefer.here = slices.ContainsFunc(s.st.Avoided, func(v state.Avoided) bool { return v.Node == node })
	}
}

// leavesOut reports whether the current pass must not serve an ask on a node, because other nodes
// are tried first.
func (s *Scheduler) leavesOut(k *state.Ask, node uint32) bool {
	p := s.prefer
	if p == nil || !p.here || !s.avoids(k, node) {
		return false
	}
	if !slices.Contains(p.nodes, node) {
		p.nodes = append(p.nodes, node)
	}
	if !slices.Contains(p.apps, k.App) {
		p.apps = append(p.apps, k.App)
	}
	return true
}

// leftOut reports whether a pass on a node has left out an ask. Another such pass would do the same.
func (s *Scheduler) leftOut(node uint32) bool {
	return s.prefer != nil && slices.Contains(s.prefer.nodes, node)
}
