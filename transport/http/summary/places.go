package summary

import (
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// place is the id and the rack of a node, which seldom change.
type place struct {
	ID   yarn.NodeID
	Rack string
}

// places has the places of all nodes.
type places struct {
	bySlot []place
	order  []state.NodeSlot // slots by host and port
	racks  []string         // sorted
}

// Nodes returns the slots of all nodes, sorted by host and port.
func (c *Summary) Nodes() []state.NodeSlot { return c.places.order }

// Racks returns the names of all racks, sorted.
func (c *Summary) Racks() []string { return c.places.racks }

// step returns the places of another version of the state.
func (p *places) step(old, now *state.State) *places {
	if p.hold(old, now) {
		return p
	}
	out := &places{bySlot: make([]place, now.Nodes.Cap())}
	now.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		out.bySlot[slot] = place{ID: n.ID, Rack: n.Rack}
		out.order, out.racks = append(out.order, slot), append(out.racks, n.Rack)
		return true
	})
	slices.SortFunc(out.order, func(a, b state.NodeSlot) int {
		return out.bySlot[a].ID.Compare(out.bySlot[b].ID)
	})
	slices.Sort(out.racks)
	out.racks = slices.Compact(out.racks)
	return out
}

// hold reports whether the places are also those of another version.
func (p *places) hold(old, now *state.State) bool {
	if old.Nodes.Len() != now.Nodes.Len() || old.Nodes.Cap() != now.Nodes.Cap() {
		return false
	}
	for slot := state.NodeSlot(1); slot < now.Nodes.Cap(); slot++ {
		n := now.Nodes.Get(slot)
		if old.Nodes.Get(slot) == n {
			continue
		}
		if have := &p.bySlot[slot]; now.Nodes.Has(slot) != old.Nodes.Has(slot) || n.ID != have.ID || n.Rack != have.Rack {
			return false
		}
	}
	return true
}
