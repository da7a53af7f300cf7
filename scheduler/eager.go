package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// Bounds on the passes that one input may cause beyond its own; what is left
// over waits for heartbeats.
const (
	eagerGrants = 128 // turns that granted something
	eagerMisses = 8   // turns that granted nothing
)

// asksMore notes that an application asks for something new.
func (p *Planner) asksMore(slot uint32) {
	if p.eager && !slices.Contains(p.asking, slot) {
		p.asking = append(p.asking, slot)
	}
}

// afterwards runs what an input has made possible: in eager mode turns on the
// nodes that got room back, and on nodes with room for what is newly asked.
func (p *Planner) afterwards() {
	if p.cfg == nil {
		return
	}
	p.eagerPasses()
}

func (p *Planner) eagerPasses() {
	if !p.eager {
		p.freed, p.asking = p.freed[:0], p.asking[:0]
		return
	}
	budget := &eagerBudget{grants: eagerGrants, misses: eagerMisses}
	for len(p.freed) > 0 || len(p.asking) > 0 {
		freed, asking := slices.Clone(p.freed), slices.Clone(p.asking)
		p.freed, p.asking = p.freed[:0], p.asking[:0]
		slices.Sort(freed)
		for _, n := range slices.Compact(freed) {
			p.eagerTurn(n, budget)
		}
		for _, a := range asking {
			p.eagerServe(a, budget)
		}
		if budget.spent() {
			p.freed, p.asking = p.freed[:0], p.asking[:0]
		}
	}
}

type eagerBudget struct{ grants, misses int }

func (b *eagerBudget) spent() bool { return b.grants <= 0 || b.misses <= 0 }

// eagerTurn runs a node's turn as its heartbeat would, but for the counts of
// missed offers.
func (p *Planner) eagerTurn(node uint32, b *eagerBudget) bool {
	if b.spent() || !p.st.Nodes.Has(node) || !serving(p.st.Nodes.Get(node)) {
		return false
	}
	held := p.st.Nodes.Get(node).Reservation
	granted := p.heartbeatPass(node) || (held != 0 && p.st.Nodes.Get(node).Reservation != held)
	if granted {
		b.grants--
	} else {
		b.misses--
	}
	return granted
}

// eagerServe runs turns on nodes with room for what an application asks, the
// emptiest first, until it has everything or the budget is spent.
func (p *Planner) eagerServe(app uint32, b *eagerBudget) {
	for !b.spent() {
		size, ok := p.smallestAsk(app)
		if !ok {
			return
		}
		var granted bool
		for bucket, node := p.room.next(0, 0, size); node != 0 && !b.spent(); bucket, node = p.room.next(bucket, node, size) {
			if p.eagerTurn(node, b) {
				granted = true
				break // the index has changed: start again at the emptiest
			}
		}
		if !granted {
			return
		}
	}
}

// smallestAsk is the least memory among what an application still asks.
func (p *Planner) smallestAsk(app uint32) (int64, bool) {
	if !p.st.Apps.Has(app) || !p.st.Apps.Get(app).Activated() {
		return 0, false
	}
	var least int64
	var found bool
	for slot := p.st.Apps.Get(app).Asks; slot != 0; slot = p.st.Asks.Get(slot).Next {
		if k := p.st.Asks.Get(slot); k.Count > 0 && k.Grows == 0 && (!found || k.Size[yarn.Memory] < least) {
			least, found = k.Size[yarn.Memory], true
		}
	}
	return least, found
}

// fitsSomewhere says whether a size fits the total of some usable node.
func (p *Planner) fitsSomewhere(size yarn.Resource) bool {
	var fits bool
	p.st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		fits = n.State == yarn.NodeRunning && p.cfg.Calculator.FitsIn(size, n.Total)
		return !fits
	})
	return fits
}
