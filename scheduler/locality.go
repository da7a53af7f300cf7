package scheduler

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// reach says at which localities an ask may be served on a node, regardless of locality delays.
type reach struct{ host, rack, any bool }

func (r reach) usable() bool { return r.host || r.rack || r.any }

// reachOf returns how an ask may use a node. Among the nodes of its label and those that may be
// lent to it, an ask may use nodes whose host it names; nodes of a rack that it names, unless that
// entry is strict; and any other node if "*" is relaxed. The ask for an increase may use only the
// container's node.
func (s *rules) reachOf(k *state.Ask, node state.NodeSlot) reach {
	if k.IncreaseOf != 0 {
		return reach{host: s.State.Containers.Get(k.IncreaseOf).Node == node}
	}
	n := s.State.Nodes.Get(node)
	if k.Label != n.Label && !s.lendsTo(n, k) {
		return reach{}
	}
	return s.placesOf(k, n)
}

// placesOf is reachOf without regard to labels.
func (s *rules) placesOf(k *state.Ask, n *state.Node) reach {
	r := reach{host: s.State.Location(k, n.Host) != 0, any: k.Relax}
	if rack := s.State.Location(k, n.RackID); rack != 0 {
		r.rack = s.State.Locations.Get(rack).Relax
		r.any = r.any && r.rack
	}
	return r
}

// MayUse reports whether an ask may be served on a node, regardless of locality delays.
func (s *rules) MayUse(ask state.AskSlot, node state.NodeSlot) bool {
	return s.reachOf(s.State.Asks.Get(ask), node).usable()
}

// OtherLabel reports whether only the node's label prevents an ask from using a node.
func (s *rules) OtherLabel(ask state.AskSlot, node state.NodeSlot) bool {
	k, n := s.State.Asks.Get(ask), s.State.Nodes.Get(node)
	return k.IncreaseOf == 0 && k.Label != n.Label && !s.lendsTo(n, k) && s.placesOf(k, n).usable()
}

// place tries the localities at which an ask may use a node, from node-local to off-switch.
func (p *pass) place(app state.AppSlot, ask state.AskSlot, node state.NodeSlot, l *Limits, fulfillment bool) decision {
	k := p.State.Asks.Get(ask)
	at := p.s.reachOf(k, node)
	none := decision{state: statePrioritySkipped, app: app, ask: ask, key: k.Key, why: LocalityDelay}
	if at.host {
		d := p.assignAt(app, ask, node, yarn.NodeLocal, l, fulfillment)
		if d.state >= stateAllocated {
			return d
		}
		none.why = d.why
		if k.IncreaseOf != 0 {
			d.state = statePrioritySkipped
			return d
		}
	}
	if at.rack {
		d := p.assignAt(app, ask, node, yarn.RackLocal, l, fulfillment)
		if d.state >= stateAllocated {
			return d
		}
		none.why = d.why
		none.delayed = d.why == LocalityDelay
	}
	if !at.any {
		return none
	}
	d := p.assignAt(app, ask, node, yarn.OffSwitch, l, fulfillment)
	if d.state == stateLocalitySkipped {
		d.state = stateAppSkipped
	}
	return d
}

// counts reports whether the pass counts as a scheduling opportunity of the key. A pass on
// a heartbeat does, if the key names hosts or racks. An ask for "*" alone waits for no locality, so
// nothing is counted.
func (p *pass) counts(k *state.Ask) bool { return p.counting && k.Entries > 1 }

// opportunities returns how many opportunities an ask has had, with the current one.
func (p *pass) opportunities(k *state.Ask) uint32 {
	if p.counts(k) {
		return k.Opportunities + 1
	}
	return k.Opportunities
}

// delayOf returns the locality delay of an ask that has had some opportunities.
func (s *rules) delayOf(k *state.Ask, opportunities uint32) delay {
	return delay{
		opportunities: int64(opportunities),
		outstanding:   k.Count,
		entries:       int64(k.Entries),
		nodes:         int64(s.State.Meta.UsableNodes),
		nodeDelay:     s.Config.NodeLocalityDelay,
		rackDelay:     s.Config.RackLocalityAdditionalDelay,
	}
}

// delay has the data that decide when a request may leave its node or rack.
type delay struct {
	opportunities int64 // offers so far, including the current one
	outstanding   int64 // containers that the key still asks for
	entries       int64 // resource names of the key, including "*"
	nodes         int64 // in the cluster
	nodeDelay     int64 // node-locality-delay; −1: none
	rackDelay     int64 // rack-locality-additional-delay; −1: scaled by size
}

// allows reports whether a request may be served at a locality. A fulfillment may always be
// off-switch.
//
// Source: Hadoop 3.4.2, RegularContainerAllocator.canAssign.
func (d delay) allows(l yarn.Locality, fulfillment bool) bool {
	switch l {
	case yarn.NodeLocal:
		return true
	case yarn.RackLocal:
		return d.nodeDelay < 0 || d.opportunities > min(d.nodes, d.nodeDelay)
	}
	switch {
	case fulfillment || d.entries <= 1:
		return true
	case d.rackDelay >= 0:
		return d.opportunities > min(d.nodes, d.nodeDelay+d.rackDelay)
	}
	// opp > min(nodes, outstanding · min((entries − 1)/nodes, 1)), without a division.
	if d.opportunities > d.nodes {
		return true
	}
	names := min(d.entries-1, d.nodes)
	return yarn.CompareProducts(d.opportunities, max(d.nodes, 1), d.outstanding, names) > 0
}
