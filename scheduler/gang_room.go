package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// gangMembers is the number of members of a gang that fit on a node, or that are placed there.
type gangMembers struct {
	node  uint32
	rack  state.NameID
	count int64
	local bool // the ask names the node or its rack
}

// chooseMembers places the members of a gang on nodes, which are in order of preference. It returns
// nil if there is too little room. limits has the largest number of members in some racks.
func chooseMembers(g *yarn.Gang, rooms []gangMembers, limits []rackCounts) []gangMembers {
	if !g.OneRack {
		return takeMembers(g, rooms, limits)
	}
	var racks [][]gangMembers
	at := map[state.NameID]int{} // looked up by rack only
	for _, m := range rooms {
		i, known := at[m.rack]
		if !known {
			i = len(racks)
			at[m.rack], racks = i, append(racks, nil)
		}
		racks[i] = append(racks[i], m)
	}
	for _, rack := range racks {
		if members := takeMembers(g, rack, limits); members != nil {
			return members
		}
	}
	return nil
}

// takeMembers fills one node after the other with members. It returns nil if not all members find
// room.
func takeMembers(g *yarn.Gang, rooms []gangMembers, limits []rackCounts) (members []gangMembers) {
	left, limits := g.Count, slices.Clone(limits)
	for _, m := range rooms {
		if i := rackAt(limits, m.rack); i >= 0 {
			m.count = g.OnNode(min(m.count, limits[i].count), left)
			limits[i].count -= m.count
		} else {
			m.count = g.OnNode(m.count, left)
		}
		if m.count > 0 {
			members = append(members, m)
			left -= m.count
		}
		if left == 0 {
			return members
		}
	}
	return nil
}

// gangRoom returns where all members of a gang can start now, or nil if there is too little room.
// It prefers nodes that the gang holds, then nodes that its ask names, then nodes in
// the order of nodes.
func (s *Scheduler) gangRoom(app, ask uint32) []gangMembers {
	r := s.roomsFor(app, ask)
	for slot := range s.st.GangReservations(app) {
		r.add(s.st.Reservations.Get(slot).Node, s.st.Nodes.Get(s.st.Reservations.Get(slot).Node).Unallocated())
	}
	index := s.freeNodes(s.at, false, shapeOrder(s.nodeOrder(s.at, s.st.Apps.Get(app))))
	for node := range index.walk(index.layout.boundsFor(r.size.Times(max(r.g.PerNode, 1)), s.kindsThatCount())) {
		r.add(node, s.st.Nodes.Get(node).Unallocated())
		if r.found >= r.g.Count && !r.g.OneRack && !r.named {
			break
		}
	}
	s.gangsCompared += r.compared
	if r.found < r.g.Count {
		return nil
	}
	if r.named {
		slices.SortStableFunc(r.rooms, func(x, y gangMembers) int { return int(boolToInt(y.local) - boolToInt(x.local)) })
	}
	return chooseMembers(&r.g, r.rooms, r.limits)
}

// gangRooms collects the nodes on which members of a gang fit.
type gangRooms struct {
	s        *Scheduler
	g        yarn.Gang
	app, ask uint32
	size     yarn.Resource // of a member
	named    bool          // the ask names hosts or racks
	rooms    []gangMembers
	found    int64        // members that fit on them, up to the count on each
	compared int64        // nodes
	limits   []rackCounts // the most members in racks that the ask may use only because it names them
}

// rackCounts is a number of members in a rack.
type rackCounts struct {
	rack  state.NameID
	count int64
}

// rackAt returns the index of a rack, or −1 if it is not in the list.
func rackAt(racks []rackCounts, rack state.NameID) int {
	return slices.IndexFunc(racks, func(c rackCounts) bool { return c.rack == rack })
}

func (s *Scheduler) roomsFor(app, ask uint32) *gangRooms {
	k := s.st.Asks.Get(ask)
	return &gangRooms{s: s, g: s.st.Gangs.Get(app).Spec, app: app, ask: ask, size: k.Size, named: k.Entries > 1}
}

// add adds a node with the given free room, if a member may run there.
func (r *gangRooms) add(node uint32, free yarn.Resource) {
	r.compared++
	n, k := r.s.st.Nodes.Get(node), r.s.st.Asks.Get(r.ask)
	at := r.s.reachOf(k, node)
	if !at.usable() || !n.TakesContainers() || r.s.st.Apps.Get(r.app).Blacklisted(n) {
		return
	}
	fit := r.s.membersIn(free, r.size)
	if !at.any {
		fit = min(fit, r.wanted(k, n, at))
	}
	if fit = r.g.OnNode(fit, r.g.Count); fit > 0 {
		r.rooms = append(r.rooms, gangMembers{node: node, rack: n.RackID, count: fit, local: at.host || at.rack})
		r.found += fit
	}
}

// wanted returns how many members the ask wants on a node that it may use only because it names the
// node's host or rack. Members wanted in a rack may be on any node of the rack.
func (r *gangRooms) wanted(k *state.Ask, n *state.Node, at reach) int64 {
	if !at.rack {
		return r.s.st.Locations.Get(r.s.st.Location(k, n.Host)).Count
	}
	i := rackAt(r.limits, n.RackID)
	if i < 0 {
		i = len(r.limits)
		r.limits = append(r.limits, rackCounts{n.RackID, r.s.st.Locations.Get(r.s.st.Location(k, n.RackID)).Count})
	}
	return r.limits[i].count
}

// membersIn returns how many containers of a size fit into free. It is 0 if any resource is
// over-committed.
func (s *Scheduler) membersIn(free, size yarn.Resource) int64 {
	if !s.cfg.Calculator.FitsIn(yarn.Resource{}, free) {
		return 0
	}
	return s.cfg.Calculator.AvailableContainers(free, size)
}
