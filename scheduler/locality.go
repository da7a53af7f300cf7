package scheduler

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// reach says at which localities an ask may be served on a node, however long it would wait there.
type reach struct{ host, rack, any bool }

func (r reach) usable() bool { return r.host || r.rack || r.any }

// reachOf is the rule which nodes an ask may use, among those of its label and those lent to it:
// nodes whose host it names; nodes of a rack it names, unless that entry is strict and stands for
// named hosts alone; and any other node when "*" is relaxed. What makes a container larger may use
// the container's node alone.
func (s *Scheduler) reachOf(k *state.Ask, node uint32) reach {
	if k.IncreaseOf != 0 {
		return reach{host: s.st.Containers.Get(k.IncreaseOf).Node == node}
	}
	n := s.st.Nodes.Get(node)
	if k.Label != n.Label && !s.lendsTo(n, k) {
		return reach{}
	}
	return s.placesOf(k, n)
}

// placesOf is reachOf for nodes of any label.
func (s *Scheduler) placesOf(k *state.Ask, n *state.Node) reach {
	r := reach{host: s.st.Location(k, n.Host) != 0, any: k.Relax}
	if rack := s.st.Location(k, n.RackID); rack != 0 {
		r.rack = s.st.Locations.Get(rack).Relax
		r.any = r.any && r.rack
	}
	return r
}

// MayUse says whether an ask may be served on a node, however long it would wait there.
func (s *Scheduler) MayUse(ask, node uint32) bool {
	return s.reachOf(s.st.Asks.Get(ask), node).usable()
}

// OtherLabel says whether an ask may not be served on a node for the node's label alone.
func (s *Scheduler) OtherLabel(ask, node uint32) bool {
	k, n := s.st.Asks.Get(ask), s.st.Nodes.Get(node)
	return k.IncreaseOf == 0 && k.Label != n.Label && !s.lendsTo(n, k) && s.placesOf(k, n).usable()
}

// place tries the localities at which an ask may use a node, from the node itself outwards.
func (s *Scheduler) place(app, ask, node uint32, l *Limits, fulfillment bool) decision {
	k := s.st.Asks.Get(ask)
	at := s.reachOf(k, node)
	none := decision{state: statePrioritySkipped, app: app, ask: ask, key: k.Key, why: LocalityDelay}
	if at.host {
		d := s.assignAt(app, ask, node, yarn.NodeLocal, l, fulfillment)
		if d.state >= stateAllocated {
			return d
		}
		if k.IncreaseOf != 0 {
			d.state = statePrioritySkipped
			return d
		}
	}
	if at.rack {
		d := s.assignAt(app, ask, node, yarn.RackLocal, l, fulfillment)
		if d.state >= stateAllocated {
			return d
		}
		none.delayed = d.why == LocalityDelay
	}
	if !at.any {
		return none
	}
	d := s.assignAt(app, ask, node, yarn.OffSwitch, l, fulfillment)
	if d.state == stateLocalitySkipped {
		d.state = stateAppSkipped
	}
	return d
}

// counts says whether the present pass counts as an opportunity of the key: a
// node's own heartbeat does, for a key that names places. An ask for "*" alone
// waits for none, so nothing is written for it.
func (s *Scheduler) counts(k *state.Ask) bool { return s.counting && k.Entries > 1 }

func (s *Scheduler) delayOf(k *state.Ask) delay {
	opportunities := int64(k.Opportunities)
	if s.counts(k) {
		opportunities++ // the present visit
	}
	return delay{
		opportunities: opportunities,
		outstanding:   k.Count,
		entries:       int64(k.Entries),
		nodes:         int64(s.st.Meta.UsableNodes),
		nodeDelay:     s.cfg.NodeLocalityDelay,
		rackDelay:     s.cfg.RackLocalityAdditionalDelay,
	}
}

// delay is what decides when a request may leave its node or rack.
type delay struct {
	opportunities int64 // offers seen, the present one included
	outstanding   int64 // containers still asked under the key
	entries       int64 // resource names asked, "*" among them
	nodes         int64 // in the cluster
	nodeDelay     int64 // node-locality-delay; −1: none
	rackDelay     int64 // rack-locality-additional-delay; −1: scaled by size
}

// allows says whether a request may be served at a locality. A fulfillment may always go
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
	// opp > min(nodes, outstanding · min((entries − 1)/nodes, 1)), without dividing.
	if d.opportunities > d.nodes {
		return true
	}
	names := min(d.entries-1, d.nodes)
	return yarn.CompareProducts(d.opportunities, max(d.nodes, 1), d.outstanding, names) > 0
}
