package scheduler

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// gangSet is a set of nodes that a gang could hold.
type gangSet struct {
	members []gangMembers // nil: there will never be enough room
	at      int64         // when they are expected to have room for all members
}

// due reports whether a gang that has waited since the given time should hold its nodes now. Nobody
// uses the room of held nodes. So the gang holds them only if the remaining time is short compared
// with how long a container usually runs, or with how long the gang has waited.
func (h gangSet) due(now, since, usual int64) bool {
	return h.members != nil && gangHoldPart*(h.at-now) <= max(usual, now-since)
}

// gangHoldPart limits how long a gang holds nodes: to this fraction of those times. Holding twice
// as long leaves about twice as much room idle, and starts gangs at most a sixth earlier
// (TestGangIdleMemory).
const gangHoldPart = 16

const (
	// gangNodes bounds the nodes that a search for a gang examines. Further nodes, up to
	// gangNodesMax, are examined only while those found cannot run twice the members.
	gangNodes    = 256
	gangNodesMax = 4096
)

// roomAt says that a node has room for more members from a time on.
type roomAt struct {
	at   int64
	room gangMembers
}

// gangHold returns the nodes that will first have room for all members of a gang, if nothing else
// starts on them.
func (s *Scheduler) gangHold(app state.AppSlot, ask state.AskSlot) gangSet {
	r := s.roomsFor(app, ask)
	ends := lengthGuesses{s: s, now: s.now}
	var rooms []roomAt
	compared := int64(0)
	for node := state.NodeSlot(1); node < s.State.Nodes.Cap() && compared < gangNodesMax &&
		(compared < gangNodes || r.found < 2*r.g.Count); node++ {
		if s.mayHoldNode(app, ask, node) {
			compared++
			r.rooms = r.rooms[:0]
			if r.add(node, s.State.Nodes.Get(node).Total); len(r.rooms) > 0 {
				rooms = ends.roomsOn(rooms, r.rooms[0], r)
			}
		}
	}
	s.gangsCompared += compared + ends.compared
	return firstSet(&r.g, rooms, r.limits)
}

// mayHoldNode reports whether a gang may hold a node in its present state.
func (s *rules) mayHoldNode(app state.AppSlot, ask state.AskSlot, node state.NodeSlot) bool {
	if !s.State.Nodes.Has(node) {
		return false
	}
	n, k := s.State.Nodes.Get(node), s.State.Asks.Get(ask)
	return n.TakesContainers() && n.Label == k.Label && n.Reservation == 0 &&
		!s.State.ReservationBans.Forbids(n, app, k.Key)
}

// firstSet returns the set of nodes that first has room for all members.
func firstSet(g *yarn.Gang, rooms []roomAt, limits nameLimits) gangSet {
	slices.SortStableFunc(rooms, func(x, y roomAt) int { return cmp.Compare(x.at, y.at) })
	left := slices.Clone(limits)
	inRack := map[state.NameSlot]int64{} // members that find room, by rack; only looked up
	var all int64
	for i := range rooms {
		m := &rooms[i].room
		more := m.count
		if m.limit != 0 {
			more = min(more, left[m.limit-1])
			left[m.limit-1] -= more
		}
		all += more
		inRack[m.rack] += more
		found, rack := all, state.NameSlot(0)
		if g.OneRack {
			found, rack = inRack[m.rack], m.rack
		}
		if found >= g.Count {
			return gangSet{members: takeMembers(g, until(rooms[:i+1], rack), limits), at: rooms[i].at}
		}
	}
	return gangSet{}
}

// until sums the room by node, for the nodes of one rack or, if rack is 0, of all.
func until(rooms []roomAt, rack state.NameSlot) (sum []gangMembers) {
	at := map[state.NodeSlot]int{} // looked up by node only
	for _, r := range rooms {
		if rack != 0 && r.room.rack != rack {
			continue
		}
		i, known := at[r.room.node]
		if !known {
			at[r.room.node] = len(sum)
			sum = append(sum, r.room)
			continue
		}
		sum[i].count += r.room.count
	}
	return sum
}

// roomsOn appends the times at which a node gets room for more members, up to most.count members in
// total.
func (e *lengthGuesses) roomsOn(rooms []roomAt, most gangMembers, r *gangRooms) []roomAt {
	n := e.s.State.Nodes.Get(most.node)
	e.ends = e.ends[:0]
	for _, c := range e.s.State.Containers.On(n) {
		e.compared++
		e.ends = append(e.ends, containerEnd{e.endOf(c), c.Size})
	}
	slices.SortStableFunc(e.ends, func(x, y containerEnd) int { return cmp.Compare(x.at, y.at) })
	free, have := n.Unallocated(), int64(0)
	for i, at := 0, e.now; ; i++ {
		if fit := r.g.OnNode(min(e.s.membersIn(free, r.size), most.count), most.count); fit > have {
			m := most
			m.count = fit - have
			rooms, have = append(rooms, roomAt{at, m}), fit
		}
		if i == len(e.ends) || have == most.count {
			return rooms
		}
		at, free = max(e.ends[i].at, at), free.Add(e.ends[i].size)
	}
}
