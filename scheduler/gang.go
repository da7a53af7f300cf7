package scheduler

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity/limits"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// A gang starts as a whole or not at all. Ordinary allocation skips its ask. When a pass offers a
// node to it, one of three things happens:
//
//	start  room is free for all members, within the limits: all are allocated in one batch
//	hold   nodes that will soon have room for all members are reserved
//	wait   nothing
//
// A gang has reservations for all of its members or for none. When it loses one, it gives up the
// others. So a gang with reservations waits only for containers that run on its nodes, and a gang
// without reservations keeps no room from others. Two gangs cannot block each other.
//
// gang_room.go finds where members fit. gang_search.go finds which nodes to hold, and when.

// Searches for a gang take time, and most find nothing. So an input begins no further search after
// its searches have compared gangComparisons nodes and containers. In large clusters only some
// passes search: if each node sends a heartbeat once a second, about as many passes per second as
// the constants say. Which passes these are depends on the node and the time, so a new leader makes
// the same decisions.
const (
	gangComparisons = 8192
	gangFitPasses   = 100 // passes per second that search for room for all members
	gangHoldPasses  = 4   // passes per second that search for nodes to hold
)

// mayCompareGangs reports whether a pass on a node may search for a gang now. It allows about the
// given number of passes per second.
func (s *Scheduler) mayCompareGangs(node state.NodeSlot, passes int) bool {
	every := int64(s.State.Nodes.Len() / passes)
	return s.gangsCompared < gangComparisons && (every <= 1 || (int64(node)+s.now/1000)%every == 0)
}

// offerGang is offerKey for a gang's ask.
func (p *pass) offerGang(app state.AppSlot, ask state.AskSlot, node state.NodeSlot, l *Limits) decision {
	g := p.State.Gangs.Get(app)
	skip := func(state allocationState, why Reason) decision {
		return decision{state: state, app: app, ask: ask, key: g.Key, why: why}
	}
	switch {
	case p.Lending:
		return skip(statePrioritySkipped, OwnPartitionFirst)
	case g.State == state.GangAsking:
		return skip(statePrioritySkipped, GangIncomplete)
	}
	d := p.s.demandOf(app, ask)
	switch why := p.gangLimit(&d); {
	case why == QueueMaxCapacity && p.s.now-g.SinceMillis >= p.s.usualLength() && p.gangFitsQueue(&d):
		return skip(stateQueueSkipped, why) // as for any ask, room that the queue gets back goes to this application
	case why != NoReason:
		return skip(statePrioritySkipped, why)
	}
	if p.s.mayCompareGangs(node, gangFitPasses) {
		if d, ok := p.startGang(&d, ask, l); ok {
			return d
		}
	}
	if p.s.mayCompareGangs(node, gangHoldPasses) {
		return p.holdGang(&d, ask)
	}
	return skip(statePrioritySkipped, GangWaits)
}

// startGang looks for room for all members of a gang that no limit prevents from starting.
func (p *pass) startGang(d *gangDemand, ask state.AskSlot, l *Limits) (decision, bool) {
	if !p.gangFitsIn(0, d) || !p.Config.Calculator.FitsIn(d.size, l.headroom) {
		return decision{}, false
	}
	members := p.gangRoom(d.app, ask)
	return decision{state: stateAllocated, app: d.app, ask: ask, key: p.State.Gangs.Get(d.app).Key, gang: members},
		members != nil
}

// holdGang looks for nodes to hold for such a gang, if it holds none and has waited long enough.
func (p *pass) holdGang(d *gangDemand, ask state.AskSlot) decision {
	g := p.State.Gangs.Get(d.app)
	out := decision{state: statePrioritySkipped, app: d.app, ask: ask, key: g.Key, why: GangWaits}
	if members, _ := p.State.GangReserved(d.app); members > 0 || !p.gangMayReserve(d) {
		return out
	}
	h := p.s.gangHold(d.app, ask)
	if !h.due(p.s.now, g.SinceMillis, p.s.usualLength()) {
		return out
	}
	out.why = p.s.reservationLimit(p.State.Apps.Get(d.app), p.State.Asks.Get(ask), int64(len(h.members)))
	if out.why == NoReason {
		out.state, out.gang, out.expected = stateReserved, h.members, h.at
	}
	return out
}

// GangPass starts the waiting gang of an application, or reserves nodes for it, if a pass on some
// node would do so. It does not check whether another application comes first.
func (s *Scheduler) GangPass(app state.AppSlot, start bool) {
	a, g := s.State.Apps.Get(app), s.State.Gangs.Get(app)
	if g.State != state.GangWaiting {
		return
	}
	ask, leaf := s.State.Asks.Find(a, g.Key), s.LeafOf(a)
	p := pass{View: s.In(s.State.Asks.Get(ask).Label, false), s: s}
	l := Limits{limit: p.CurrentLimit(leaf)}
	var ok bool
	if ok, l.headroom = p.QueueLimit(leaf, l.limit, p.ReservedIn(a)); !ok {
		return
	}
	d := s.demandOf(app, ask)
	if p.gangLimit(&d) != NoReason {
		return
	}
	var is decision
	if start {
		is, ok = p.startGang(&d, ask, &l)
	} else {
		is = p.holdGang(&d, ask)
		ok = is.state == stateReserved
	}
	if ok {
		s.commitGang(&is)
	}
}

// gangDemand is what the members of a gang use together, with the queues and the user whose limits
// apply.
type gangDemand struct {
	app    state.AppSlot
	leaf   int32
	user   state.UserSlot
	member yarn.Resource
	size   yarn.Resource // of all members
}

func (s *rules) demandOf(app state.AppSlot, ask state.AskSlot) gangDemand {
	a, member := s.State.Apps.Get(app), s.State.Asks.Get(ask).Size
	return gangDemand{app: app, leaf: s.LeafOf(a), user: a.UserSlot, member: member,
		size: member.Times(s.State.Gangs.Get(app).Spec.Count)}
}

// gangFitsUser reports whether the last member is within the limit of its user. The limit grows
// with the use of the members before it.
func (v *pass) gangFitsUser(d *gangDemand) bool {
	calc, before, used := v.Config.Calculator, d.size.Sub(d.member), *v.UserUsed(d.user)
	in := v.UserLimitInput(d.leaf)
	in.ActiveUsed = in.ActiveUsed.Add(before)
	in.DominantUsed = in.DominantUsed.Sub(limits.DominantPart(calc, in.Label, used)).Add(
		limits.DominantPart(calc, in.Label, used.Add(before)))
	return calc.Compare(v.State.Meta.Cluster, used.Add(before), v.Weighted(limits.UserLimit(in), d.user)) <= 0
}

// gangFitsIn reports whether all members fit into the maximum of a queue, in addition to its
// present use.
func (v *pass) gangFitsIn(queue int32, d *gangDemand) bool {
	return v.Config.Calculator.FitsIn(v.Used(queue).Add(d.size), v.At.Tree.Capacities[queue].EffMax)
}

// gangFitsQueue reports whether all members together fit into the maxima of the queues if nothing
// else runs there.
func (v *pass) gangFitsQueue(d *gangDemand) bool {
	return v.FullQueue(d.leaf, d.size, views.Nothing) < 0
}

// gangMayReserve reports whether the queues have room for a gang in addition to the gangs that hold
// nodes. Those do not count as used before they start.
func (v *pass) gangMayReserve(d *gangDemand) bool {
	v.s.gangsCompared += 1 + int64(v.State.Reservations.Len())
	held := make([]yarn.Resource, v.Config.Queues[d.leaf].Depth+1) // by depth, for the queues of this gang
	v.State.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		if r.Members != 0 {
			a := v.State.Apps.Get(r.App)
			k := v.State.Asks.Get(v.State.Asks.Find(a, r.Key))
			for i := v.LeafOf(a); i >= 0 && k.Label == v.At.Label; i = v.Queues[i].Parent {
				if v.Holds(i, d.leaf) {
					held[v.Config.Queues[i].Depth] = held[v.Config.Queues[i].Depth].Add(k.Size.Times(int64(r.Members)))
				}
			}
		}
		return true
	})
	return v.FullQueue(d.leaf, d.size, func(i int32) yarn.Resource {
		charged := held[v.Config.Queues[i].Depth]
		if !v.MayUseAllNodes(i) {
			charged = charged.Add(*v.Used(i))
		}
		return charged
	}) < 0
}

// commitGang turns a decision about a gang into events.
func (s *Scheduler) commitGang(d *decision) {
	if d.state == stateReserved {
		for _, m := range d.gang {
			a := s.State.Apps.Get(d.app)
			s.Emit(&event.GangReserved{Reservation: s.State.Meta.NextReservation + 1, App: a.ID.Seq,
				Number: s.State.Meta.NextNumber(a),
				Node:   m.node, Members: uint32(m.count), ExpectedMillis: d.expected})
		}
		return
	}
	s.cancelGang(d.app, yarn.CancelGangStarted)
	s.Emit(&event.GangStarted{App: s.State.Apps.Get(d.app).ID.Seq})
	for _, m := range d.gang {
		for range m.count {
			s.startMember(d.app, d.key, m.node)
		}
	}
	s.CancelUnwanted(d.app)
}

// startMember allocates one member of a gang.
func (s *Scheduler) startMember(app state.AppSlot, key yarn.SchedulerKey, node state.NodeSlot) {
	a := s.State.Apps.Get(app)
	s.Emit(&event.ContainerAllocated{App: a.ID.Seq, Number: s.State.Meta.NextNumber(a), Key: key, Node: node,
		Locality: s.localityOn(s.State.Asks.Get(s.State.Asks.Find(a, key)), node)})
}

// localityOn returns the locality at which an ask would next use a node.
func (s *rules) localityOn(k *state.Ask, node state.NodeSlot) yarn.Locality {
	switch at := s.reachOf(k, node); {
	case at.host:
		return yarn.NodeLocal
	case at.rack:
		return yarn.RackLocal
	}
	return yarn.OffSwitch
}

// fulfillGang runs the pass on a node that a gang has reserved. It starts all members when all
// nodes of the gang have the room.
func (p *pass) fulfillGang(r *state.Reservation) {
	app := r.App
	ask := p.State.Asks.Find(p.State.Apps.Get(app), r.Key)
	if !p.s.wanted(ask, r.Node) {
		p.s.Cancel(r.Number, yarn.CancelAskGone)
		return
	}
	g := p.State.Gangs.Get(app)
	switch made := r.MadeMillis; {
	case g.Spec.OneRack && p.s.heldRacks(app) > 1: // a node has registered again in another rack
		p.s.cancelGang(app, yarn.CancelGangBroken)
	case p.heldSuffice(r):
		p.s.commitGang(&decision{state: stateAllocated, app: app, key: g.Key, gang: p.s.heldRoom(app)})
	case p.s.now-g.ExpectedMillis > max(gangPatienceMillis, g.ExpectedMillis-made):
		p.s.cancelGang(app, yarn.CancelGangLate)
	}
}

// heldSuffice reports whether the nodes that a gang has reserved have the room for all members, within
// the limits.
func (v *pass) heldSuffice(r *state.Reservation) bool {
	ask := v.State.Asks.Find(v.State.Apps.Get(r.App), r.Key)
	d := v.s.demandOf(r.App, ask)
	return v.s.heldMembers(r.App, ask) == v.State.Gangs.Get(r.App).Spec.Count && v.gangLimit(&d) == NoReason &&
		v.gangFitsIn(0, &d)
}

// gangPatienceMillis is the shortest delay after which a gang gives up its nodes. If the nodes were
// expected to have room only after a longer time, the gang waits as long again.
const gangPatienceMillis = 10_000

// heldRacks returns the number of racks of the nodes that a gang holds.
func (s *rules) heldRacks(app state.AppSlot) int {
	var racks []state.NameSlot
	for _, r := range s.State.GangReservations(app) {
		racks = append(racks, s.State.Nodes.Get(r.Node).RackID)
	}
	slices.Sort(racks)
	return len(slices.Compact(racks))
}

// heldMembers returns the number of members for which the held nodes have room, and which the ask
// allows there now.
func (s *rules) heldMembers(app state.AppSlot, ask state.AskSlot) (n int64) {
	r := s.roomsFor(app, ask)
	for _, res := range s.State.GangReservations(app) {
		r.add(res.Node, s.State.Nodes.Get(res.Node).Unallocated())
		if last := len(r.rooms) - 1; last >= 0 && r.rooms[last].node == res.Node &&
			r.rooms[last].count >= int64(res.Members) {
			r.rooms[last].count = int64(res.Members)
			n += int64(res.Members)
		}
	}
	if takeMembers(&r.g, r.rooms, r.limits) == nil {
		return 0
	}
	return n
}

// heldRoom returns the placement of the members on the held nodes.
func (s *rules) heldRoom(app state.AppSlot) (members []gangMembers) {
	for _, r := range s.State.GangReservations(app) {
		members = append(members, gangMembers{node: r.Node, count: int64(r.Members)})
	}
	return members
}

// cancelGang cancels all reservations of a gang.
func (s *Scheduler) cancelGang(app state.AppSlot, cause yarn.CancelCause) {
	s.cancelWhere(app, cause, func(r *state.Reservation) bool { return r.Members != 0 })
}

// breakGang cancels the other reservations of a gang that has lost one for the given cause.
func (s *Scheduler) breakGang(app state.AppSlot, cause yarn.CancelCause) {
	if cause != yarn.CancelGangStarted && cause != yarn.CancelGangBroken && cause != yarn.CancelGangLate {
		s.cancelGang(app, yarn.CancelGangBroken)
	}
}

// EndGang ends an application's gang. After that its ask is served container by container.
func (s *Scheduler) EndGang(app state.AppSlot, cause yarn.GangEnd) {
	s.cancelGang(app, yarn.CancelGangBroken)
	s.Emit(&event.GangEnded{App: s.State.Apps.Get(app).ID.Seq, Cause: cause})
	s.AsksMore(app)
}

// DeclareGang sets the gang of an application. It replaces an earlier one.
func (s *Scheduler) DeclareGang(app state.AppSlot, g yarn.Gang) {
	s.cancelWhere(app, yarn.CancelGangBroken,
		func(r *state.Reservation) bool { return r.Members != 0 || r.IncreaseOf == 0 && g.IsOf(r.Key) })
	s.Emit(&event.GangDeclared{App: s.State.Apps.Get(app).ID.Seq, Gang: g})
	s.AsksMore(app)
}

// gangComplete reports whether an ask does not belong to a gang that lacks asks for some of its
// members.
func (s *rules) gangComplete(k *state.Ask) bool {
	g := s.State.Gangs.Of(k)
	return g == nil || g.State != state.GangAsking
}

// GangMayFit reports whether a queue could ever run this many of the smallest containers together
// on the nodes of the cluster. It returns true while the cluster has no nodes.
func (s *rules) GangMayFit(leaf int32, count int64) bool {
	s.RefreshCapacities()
	size, nodes := s.Config.MinAlloc.Times(count), false
	for _, p := range s.Partitions {
		if p.Total.IsZero() {
			continue
		}
		nodes = true
		if s.Config.Calculator.FitsIn(size, p.Tree.Capacities[leaf].EffMax) {
			return true
		}
	}
	return !nodes
}

// sizeFor returns the size of one container of a reservation.
func (s *rules) sizeFor(r *state.Reservation) yarn.Resource {
	if r.Members == 0 {
		return r.Size
	}
	if ask := s.State.Asks.Find(s.State.Apps.Get(r.App), r.Key); ask != 0 {
		return s.State.Asks.Get(ask).Size
	}
	return r.Size
}
