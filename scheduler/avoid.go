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
	here  bool             // some ask avoids the node of the pass
	nodes []state.NodeSlot // on which asks were left out
	apps  []state.AppSlot  // the applications of these asks
}

// avoids reports whether an ask prefers other nodes.
func (s *Scheduler) avoids(k *state.Ask, node state.NodeSlot) bool {
	return k.IncreaseOf == 0 && s.State.Avoided.Avoids(s.State.Apps.Get(k.App).ID.Seq, k.Key, node, s.now)
}

// preferOthers runs the eager passes without asks on nodes that they avoid, and records the
// applications of these asks for passes on any node.
func (r *eagerRun) preferOthers() {
	if len(r.State.Avoided) == 0 {
		return
	}
	r.prefer = &preference{}
	r.run()
	apps := r.prefer.apps
	r.prefer = nil
	for _, app := range apps {
		r.AsksMore(app)
	}
}

// PreferringPass is EagerPass without the asks that avoid the node.
func (s *Scheduler) PreferringPass(node state.NodeSlot) bool { return s.eagerPass(node, &preference{}) }

// lookAt finds out once for a pass whether any ask avoids the node, because a pass may offer the node
// to thousands of asks.
func (p *preference) lookAt(st *state.State, node state.NodeSlot) {
	if p != nil {
		p.here = slices.ContainsFunc(st.Avoided, func(v state.Avoided) bool { return v.Node == node })
	}
}

// leavesOut reports whether the pass must not serve an ask on a node, because other nodes are tried
// first.
func (p *pass) leavesOut(k *state.Ask, node state.NodeSlot) bool {
	if p.prefer == nil || !p.prefer.here || !p.s.avoids(k, node) {
		return false
	}
	p.prefer.note(k.App, node)
	return true
}

// note records that an ask of an application was left out on a node.
func (p *preference) note(app state.AppSlot, node state.NodeSlot) {
	if !slices.Contains(p.nodes, node) {
		p.nodes = append(p.nodes, node)
	}
	if !slices.Contains(p.apps, app) {
		p.apps = append(p.apps, app)
	}
}

// leftOut reports whether a pass on a node has left out an ask. Another such pass would do the same.
func (p *preference) leftOut(node state.NodeSlot) bool {
	return p != nil && slices.Contains(p.nodes, node)
}
