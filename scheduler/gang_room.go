package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// gangMembers says how many members of a gang fit on a node, or go there.
type gangMembers struct {
	node  uint32
	rack  state.NameID
	count int64
	local bool // the ask names the node or its rack
}

// chooseMembers chooses where the members of a gang go, of nodes in the order of preference; nil when
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

// takeMembers fills nodes with members, one after the other; nil when not all members find room.
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

// gangRoom is where all members of a gang may start now; nil when there is too little room. Nodes that
// it holds come first, then those that its ask names, then those with the most memory free.
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

// gangRooms gathers the nodes on which members of a gang fit.
type gangRooms struct {
	s        *Scheduler
	g        yarn.Gang
	app, ask uint32
	size     yarn.Resource // of a member
	named    bool          // the ask names hosts or racks
	rooms    []gangMembers
	found    int64        // members that fit on them, up to the count on each
	compared int64        // nodes
	racks    []rackCounts // of an ask that may use named places alone
}

// rackCounts is what an ask that may use named places alone still wants of a rack.
type rackCounts struct {
	rack state.NameID
	left int64
}

func (s *Scheduler) roomsFor(app, ask uint32) *gangRooms {
	k := s.st.Asks.Get(ask)
	return &gangRooms{s: s, g: s.st.Gangs.Get(app).Spec, app: app, ask: ask, size: k.Size, named: k.Entries > 1}
}

// add adds a node on which an amount is free, if a member may use it.
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

// wanted is how many members may go to a node by the counts of an ask for named places alone.
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

// membersIn counts the containers of a size that fit in an amount. Where a kind is over-committed none
// does, not even of another kind.
func (s *Scheduler) membersIn(free, size yarn.Resource) int64 {
	if !s.cfg.Calculator.FitsIn(yarn.Resource{}, free) {
		return 0
	}
	return s.cfg.Calculator.AvailableContainers(free, size)
}
