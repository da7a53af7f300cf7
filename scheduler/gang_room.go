package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// gangMembers is the number of members of a gang that fit on a node, or that are placed there.
type gangMembers struct {
	node  state.NodeSlot
	rack  state.NameSlot
	count int64
	local bool // the ask names the node or its rack
	limit int  // the nameLimits entry that the members count in, from 1 on; 0: none
}

// nameLimits has how many members an ask wants at each host or rack whose nodes it may use only
// because it names them. Such a host may have several nodes.
type nameLimits []int64

// chooseMembers places the members of a gang on nodes, which are in order of preference. It returns
// nil if there is too little room.
func chooseMembers(g *yarn.Gang, rooms []gangMembers, limits nameLimits) []gangMembers {
	if !g.OneRack {
		return takeMembers(g, rooms, limits)
	}
	var racks [][]gangMembers
	at := map[state.NameSlot]int{} // looked up by rack only
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
func takeMembers(g *yarn.Gang, rooms []gangMembers, limits nameLimits) (members []gangMembers) {
	left, limits := g.Count, slices.Clone(limits)
	for _, m := range rooms {
		if m.limit != 0 {
			m.count = g.OnNode(min(m.count, limits[m.limit-1]), left)
			limits[m.limit-1] -= m.count
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
func (v *pass) gangRoom(app state.AppSlot, ask state.AskSlot) []gangMembers {
	r := v.s.roomsFor(app, ask)
	for slot := range v.State.GangReservations(app) {
		r.add(v.State.Reservations.Get(slot).Node, v.State.Nodes.Get(v.State.Reservations.Get(slot).Node).Unallocated())
	}
	index := v.FreeNodes(v.At, false, ShapeOrder(v.s.NodeOrder(v.At, v.State.Apps.Get(app), v.s.now)))
	for node := range index.Walk(index.Layout.BoundsFor(r.size.Times(max(r.g.PerNode, 1)), v.KindsThatCount())) {
		r.add(node, v.State.Nodes.Get(node).Unallocated())
		if r.found >= r.g.Count && !r.g.OneRack && !r.named {
			break
		}
	}
	v.s.gangsCompared += r.compared
	if r.found < r.g.Count {
		return nil
	}
	if r.named {
		slices.SortStableFunc(r.rooms, func(x, y gangMembers) int { return compareBools(y.local, x.local) })
	}
	return chooseMembers(&r.g, r.rooms, r.limits)
}

// gangRooms collects the nodes on which members of a gang fit.
type gangRooms struct {
	s        *rules
	g        yarn.Gang
	app      state.AppSlot
	ask      state.AskSlot
	size     yarn.Resource // of a member
	named    bool          // the ask names hosts or racks
	rooms    []gangMembers
	found    int64 // members that fit on them, up to the count on each
	compared int64 // nodes
	limits   nameLimits
	limitOf  map[state.NameSlot]int // entry of limits for a name, from 1 on; only looked up
}

func (s *rules) roomsFor(app state.AppSlot, ask state.AskSlot) *gangRooms {
	k := s.State.Asks.Get(ask)
	return &gangRooms{s: s, g: s.State.Gangs.Get(app).Spec, app: app, ask: ask, size: k.Size, named: k.Entries > 1,
		limitOf: map[state.NameSlot]int{}}
}

// add adds a node with the given free room, if a member may run there.
func (r *gangRooms) add(node state.NodeSlot, free yarn.Resource) {
	r.compared++
	if n := r.s.State.Nodes.Get(node); n.TakesContainers() && !r.s.State.Apps.Get(r.app).Blacklisted(n) {
		r.addRoom(node, free)
	}
}

// addRoom is add for a node that takes containers or may do so later.
func (r *gangRooms) addRoom(node state.NodeSlot, free yarn.Resource) {
	n, k := r.s.State.Nodes.Get(node), r.s.State.Asks.Get(r.ask)
	at := r.s.reachOf(k, node)
	if !at.usable() {
		return
	}
	fit, limit := r.s.membersIn(free, r.size), 0
	if !at.any {
		limit = r.limitFor(k, n, at)
		fit = min(fit, r.limits[limit-1])
	}
	if fit = r.g.OnNode(fit, r.g.Count); fit > 0 {
		r.rooms = append(r.rooms, gangMembers{node: node, rack: n.RackID, count: fit, local: at.host || at.rack,
			limit: limit})
		r.found += fit
	}
}

// limitFor returns the entry of limits, from 1 on, for a node that the ask may use only because it
// names the node's host or rack. Members wanted in a rack may be on any node of the rack.
func (r *gangRooms) limitFor(k *state.Ask, n *state.Node, at reach) int {
	name := n.Host
	if at.rack {
		name = n.RackID
	}
	i, known := r.limitOf[name]
	if !known {
		r.limits = append(r.limits, r.s.State.Locations.Get(r.s.State.Location(k, name)).Count)
		i = len(r.limits)
		r.limitOf[name] = i
	}
	return i
}

// membersIn returns how many containers of a size fit into free. It is 0 if any resource is
// over-committed.
func (s *rules) membersIn(free, size yarn.Resource) int64 {
	if !s.Config.Calculator.FitsIn(yarn.Resource{}, free) {
		return 0
	}
	return s.Config.Calculator.AvailableContainers(free, size)
}
