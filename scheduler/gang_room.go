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

// chooseMembers places the members of a gang on nodes, which are in the order of preference; nil if
// there is too little room.
func chooseMembers(g *yarn.Gang, rooms []gangMembers) []gangMembers {
	if !g.OneRack {
		return takeMembers(g, rooms)
	}
	var racks []state.NameID
	for i := range rooms {
		racks = append(racks, rooms[i].rack)
	}
	byRack := slices.Clone(rooms)
	slices.SortStableFunc(byRack, func(x, y gangMembers) int { return slices.Index(racks, x.rack) - slices.Index(racks, y.rack) })
	for len(byRack) > 0 {
		end := slices.IndexFunc(byRack, func(m gangMembers) bool { return m.rack != byRack[0].rack })
		if end < 0 {
			end = len(byRack)
		}
		if members := takeMembers(g, byRack[:end]); members != nil {
			return members
		}
		byRack = byRack[end:]
	}
	return nil
}

// takeMembers fills one node after the other with members; nil if not all members find room.
func takeMembers(g *yarn.Gang, rooms []gangMembers) (members []gangMembers) {
	left := g.Count
	for _, m := range rooms {
		if m.count = g.OnNode(m.count, left); m.count > 0 {
			members = append(members, m)
			left -= m.count
		}
		if left == 0 {
			return members
		}
	}
	return nil
}

// gangRoom returns where all members of a gang can start now; nil if there is too little room. It
// prefers nodes that the gang holds, then nodes that its ask names, then nodes with the most free
// memory.
func (s *Scheduler) gangRoom(app, ask uint32) []gangMembers {
	r := s.roomsFor(app, ask)
	for slot := range s.st.GangReservations(app) {
		r.add(s.st.Reservations.Get(slot).Node, s.st.Nodes.Get(s.st.Reservations.Get(slot).Node).Unallocated())
	}
	least := r.size[yarn.Memory] * max(r.g.PerNode, 1)
	for bucket, node := s.at.nodes.next(0, 0, least); node != 0; bucket, node = s.at.nodes.next(bucket, node, least) {
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
	return chooseMembers(&r.g, r.rooms)
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
	racks    []rackCounts // if the ask may use only named places
}

// rackCounts is what an ask that may use only named places still wants of a rack.
type rackCounts struct {
	rack state.NameID
	left int64
}

func (s *Scheduler) roomsFor(app, ask uint32) *gangRooms {
	k := s.st.Asks.Get(ask)
	return &gangRooms{s: s, g: s.st.Gangs.Get(app).Spec, app: app, ask: ask, size: k.Size, named: k.Entries > 1}
}

// add adds a node with some free room, if a member may use it.
func (r *gangRooms) add(node uint32, free yarn.Resource) {
	r.compared++
	n, k := r.s.st.Nodes.Get(node), r.s.st.Asks.Get(r.ask)
	at := r.s.reachOf(k, node)
	if !at.usable() || !n.Serving() || r.s.st.Apps.Get(r.app).Blacklisted(n) {
		return
	}
	fit := r.s.membersIn(free, r.size)
	if r.named && !k.Relax {
		fit = min(fit, r.wanted(k, n, at))
	}
	if fit = r.g.OnNode(fit, r.g.Count); fit > 0 {
		r.rooms = append(r.rooms, gangMembers{node: node, rack: n.RackID, count: fit, local: at.host || at.rack})
		r.found += fit
	}
}

// wanted is the number of members that the ask allows on a node, if it may use only named places.
func (r *gangRooms) wanted(k *state.Ask, n *state.Node, at reach) int64 {
	if !at.rack {
		return r.s.st.Locations.Get(r.s.st.Location(k, n.Host)).Count
	}
	i := slices.IndexFunc(r.racks, func(c rackCounts) bool { return c.rack == n.RackID })
	if i < 0 {
		i = len(r.racks)
		r.racks = append(r.racks, rackCounts{n.RackID, r.s.st.Locations.Get(r.s.st.Location(k, n.RackID)).Count})
	}
	fit := min(r.racks[i].left, r.s.membersIn(n.Total, r.size))
	r.racks[i].left -= fit
	return fit
}

// membersIn counts the containers of a size that fit into an amount. If one resource is
// over-committed, none fits.
func (s *Scheduler) membersIn(free, size yarn.Resource) int64 {
	if !s.cfg.Calculator.FitsIn(yarn.Resource{}, free) {
		return 0
	}
	return s.cfg.Calculator.AvailableContainers(free, size)
}
