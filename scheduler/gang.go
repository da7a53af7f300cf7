package scheduler

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
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
// gang_room.go finds where members fit. gang_hold.go finds which nodes to hold, and when.

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
	every := int64(s.st.Nodes.Len() / passes)
	return s.gangsCompared < gangComparisons && (every <= 1 || (int64(node)+s.now/1000)%every == 0)
}

// offerGang is offerKey for a gang's ask.
func (p *pass) offerGang(app state.AppSlot, ask state.AskSlot, node state.NodeSlot, l *Limits) decision {
	g := p.st.Gangs.Get(app)
	skip := func(state allocationState, why Reason) decision {
		return decision{state: state, app: app, ask: ask, key: g.Key, why: why}
	}
	switch {
	case p.lending:
		return skip(statePrioritySkipped, OwnPartitionFirst)
	case g.State == state.GangAsking:
		return skip(statePrioritySkipped, GangIncomplete)
	}
	d := p.demandOf(app, ask)
	switch why := p.gangLimit(&d); {
	case why == QueueMaxCapacity && p.now-g.SinceMillis >= p.usualLength() && p.gangFitsQueue(&d):
		return skip(stateQueueSkipped, why) // as for any ask, room that the queue gets back goes to this application
	case why != NoReason:
		return skip(statePrioritySkipped, why)
	}
	if p.mayCompareGangs(node, gangFitPasses) {
		if d, ok := p.startGang(&d, ask, l); ok {
			return d
		}
	}
	if p.mayCompareGangs(node, gangHoldPasses) {
		if d, ok := p.holdGang(&d, ask); ok {
			return d
		}
	}
	return skip(statePrioritySkipped, GangWaits)
}

// startGang looks for room for all members of a gang that no limit prevents from starting.
func (p *pass) startGang(d *gangDemand, ask state.AskSlot, l *Limits) (decision, bool) {
	if !p.gangFitsIn(0, d) || !p.cfg.Calculator.FitsIn(d.size, l.headroom) {
		return decision{}, false
	}
	members := p.gangRoom(d.app, ask)
	return decision{state: stateAllocated, app: d.app, ask: ask, key: p.st.Gangs.Get(d.app).Key, gang: members}, members != nil
}

// holdGang looks for nodes to hold for such a gang, if it holds none and has waited long enough.
func (p *pass) holdGang(d *gangDemand, ask state.AskSlot) (decision, bool) {
	if members, _ := p.st.GangReserved(d.app); members > 0 || !p.gangMayReserve(d) {
		return decision{}, false
	}
	g, h := p.st.Gangs.Get(d.app), p.gangHold(d.app, ask)
	return decision{state: stateReserved, app: d.app, ask: ask, key: g.Key, gang: h.members, expected: h.at},
		h.due(p.now, g.SinceMillis, p.usualLength()) && p.moreReservations(p.st.Apps.Get(d.app), p.st.Asks.Get(ask), int64(len(h.members)))
}

// GangPass starts the waiting gang of an application, or reserves nodes for it, if a pass on some
// node would do so. It does not check whether another application comes first.
func (s *Scheduler) GangPass(app state.AppSlot, start bool) {
	a, g := s.st.Apps.Get(app), s.st.Gangs.Get(app)
	if g.State != state.GangWaiting {
		return
	}
	ask, leaf := s.st.Asks.Find(a, g.Key), s.LeafOf(a)
	p := pass{View: s.In(s.st.Asks.Get(ask).Label, false)}
	l := Limits{limit: p.currentLimit(leaf)}
	var ok bool
	if ok, l.headroom = p.queueLimit(leaf, l.limit, p.reservedIn(a)); !ok {
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
		is, ok = p.holdGang(&d, ask)
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

func (s *Scheduler) demandOf(app state.AppSlot, ask state.AskSlot) gangDemand {
	a, member := s.st.Apps.Get(app), s.st.Asks.Get(ask).Size
	return gangDemand{app: app, leaf: s.LeafOf(a), user: a.UserSlot, member: member, size: member.Times(s.st.Gangs.Get(app).Spec.Count)}
}

// gangLimit returns which limit, of the user or of a queue, prevents all members of a gang from
// starting together, regardless of the free room on nodes. It returns NoReason if none does.
func (v *View) gangLimit(d *gangDemand) Reason {
	if !v.gangFitsUser(d) {
		return UserLimit
	}
	for i := d.leaf; i >= 0; i = v.queues[i].parent {
		if !v.mayUseAllNodes(i) && !v.gangFitsIn(i, d) {
			return QueueMaxCapacity
		}
	}
	return NoReason
}

// gangFitsUser reports whether the last member is within the limit of its user. The limit grows
// with the use of the members before it.
func (v *View) gangFitsUser(d *gangDemand) bool {
	calc, before, used := v.cfg.Calculator, d.size.Sub(d.member), *v.userUsed(d.user)
	in := v.userLimitInput(d.leaf)
	in.ActiveUsed = in.ActiveUsed.Add(before)
	in.DominantUsed = in.DominantUsed.Sub(capacity.DominantPart(calc, in.Label, used)).Add(capacity.DominantPart(calc, in.Label, used.Add(before)))
	return calc.Compare(v.st.Meta.Cluster, used.Add(before), v.weighted(capacity.UserLimit(in), d.user)) <= 0
}

// gangFitsIn reports whether all members fit into the maximum of a queue, in addition to its
// present use.
func (v *View) gangFitsIn(queue int32, d *gangDemand) bool {
	return v.cfg.Calculator.FitsIn(v.used(queue).Add(d.size), v.at.tree.Capacities[queue].EffMax)
}

// gangFitsQueue reports whether all members together fit into the maxima of the queues if nothing
// else runs there.
func (v *View) gangFitsQueue(d *gangDemand) bool {
	for i := d.leaf; i >= 0; i = v.queues[i].parent {
		if !v.cfg.Calculator.FitsIn(d.size, v.at.tree.Capacities[i].EffMax) {
			return false
		}
	}
	return true
}

// gangMayReserve reports whether the queues have room for a gang in addition to the gangs that hold
// nodes. Those do not count as used before they start.
func (v *View) gangMayReserve(d *gangDemand) bool {
	v.gangsCompared += 1 + int64(v.st.Reservations.Len())
	held := make([]yarn.Resource, v.cfg.Queues[d.leaf].Depth+1) // by depth, for the queues of this gang
	v.st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		if r.Members != 0 {
			a := v.st.Apps.Get(r.App)
			k := v.st.Asks.Get(v.st.Asks.Find(a, r.Key))
			for i := v.LeafOf(a); i >= 0 && k.Label == v.at.label; i = v.queues[i].parent {
				if v.holds(i, d.leaf) {
					held[v.cfg.Queues[i].Depth] = held[v.cfg.Queues[i].Depth].Add(k.Size.Times(int64(r.Members)))
				}
			}
		}
		return true
	})
	for i := d.leaf; i >= 0; i = v.queues[i].parent {
		charged := held[v.cfg.Queues[i].Depth].Add(d.size)
		if !v.mayUseAllNodes(i) {
			charged = charged.Add(*v.used(i))
		}
		if !v.cfg.Calculator.FitsIn(charged, v.at.tree.Capacities[i].EffMax) {
			return false
		}
	}
	return true
}

// commitGang turns a decision about a gang into events.
func (s *Scheduler) commitGang(d *decision) {
	if d.state == stateReserved {
		for _, m := range d.gang {
			a := s.st.Apps.Get(d.app)
			s.Emit(&event.GangReserved{Reservation: s.st.Meta.NextReservation + 1, App: a.ID.Seq, Number: s.st.Meta.NextNumber(a),
				Node: m.node, Members: uint32(m.count), ExpectedMillis: d.expected})
		}
		return
	}
	s.cancelGang(d.app, yarn.CancelGangStarted)
	s.Emit(&event.GangStarted{App: s.st.Apps.Get(d.app).ID.Seq})
	for _, m := range d.gang {
		for range m.count {
			s.startMember(d.app, d.key, m.node)
		}
	}
	s.CancelUnwanted(d.app)
}

// startMember allocates one member of a gang.
func (s *Scheduler) startMember(app state.AppSlot, key yarn.SchedulerKey, node state.NodeSlot) {
	a := s.st.Apps.Get(app)
	s.Emit(&event.ContainerAllocated{App: a.ID.Seq, Number: s.st.Meta.NextNumber(a), Key: key, Node: node,
		Locality: s.localityOn(s.st.Asks.Get(s.st.Asks.Find(a, key)), node)})
}

// localityOn returns the locality at which an ask would next use a node.
func (s *Scheduler) localityOn(k *state.Ask, node state.NodeSlot) yarn.Locality {
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
	ask := p.st.Asks.Find(p.st.Apps.Get(app), r.Key)
	if !p.wanted(ask, r.Node) {
		p.cancel(r.Number, yarn.CancelAskGone)
		return
	}
	g := p.st.Gangs.Get(app)
	switch made := r.MadeMillis; {
	case g.Spec.OneRack && p.heldRacks(app) > 1: // a node has registered again in another rack
		p.cancelGang(app, yarn.CancelGangBroken)
	case p.heldSuffice(r):
		p.commitGang(&decision{state: stateAllocated, app: app, key: g.Key, gang: p.heldRoom(app)})
	case p.now-g.ExpectedMillis > max(gangPatienceMillis, g.ExpectedMillis-made):
		p.cancelGang(app, yarn.CancelGangLate)
	}
}

// heldSuffice reports whether the nodes that a gang has reserved have the room for all members, within
// the limits.
func (v *View) heldSuffice(r *state.Reservation) bool {
	ask := v.st.Asks.Find(v.st.Apps.Get(r.App), r.Key)
	d := v.demandOf(r.App, ask)
	return v.heldMembers(r.App, ask) == v.st.Gangs.Get(r.App).Spec.Count && v.gangLimit(&d) == NoReason && v.gangFitsIn(0, &d)
}

// gangPatienceMillis is the shortest delay after which a gang gives up its nodes. If the nodes were
// expected to have room only after a longer time, the gang waits as long again.
const gangPatienceMillis = 10_000

// heldRacks returns the number of racks of the nodes that a gang holds.
func (s *Scheduler) heldRacks(app state.AppSlot) int {
	var racks []state.NameSlot
	for _, r := range s.st.GangReservations(app) {
		racks = append(racks, s.st.Nodes.Get(r.Node).RackID)
	}
	slices.Sort(racks)
	return len(slices.Compact(racks))
}

// heldMembers returns the number of members for which the held nodes have room, and which the ask
// allows there now.
func (s *Scheduler) heldMembers(app state.AppSlot, ask state.AskSlot) (n int64) {
	r := s.roomsFor(app, ask)
	for _, res := range s.st.GangReservations(app) {
		r.add(res.Node, s.st.Nodes.Get(res.Node).Unallocated())
		if last := len(r.rooms) - 1; last >= 0 && r.rooms[last].node == res.Node && r.rooms[last].count >= int64(res.Members) {
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
func (s *Scheduler) heldRoom(app state.AppSlot) (members []gangMembers) {
	for _, r := range s.st.GangReservations(app) {
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
	s.Emit(&event.GangEnded{App: s.st.Apps.Get(app).ID.Seq, Cause: cause})
	s.AsksMore(app)
}

// DeclareGang sets the gang of an application. It replaces an earlier one.
func (s *Scheduler) DeclareGang(app state.AppSlot, g yarn.Gang) {
	s.cancelWhere(app, yarn.CancelGangBroken, func(r *state.Reservation) bool { return r.Members != 0 || r.IncreaseOf == 0 && g.IsOf(r.Key) })
	s.Emit(&event.GangDeclared{App: s.st.Apps.Get(app).ID.Seq, Gang: g})
	s.AsksMore(app)
}

// gangComplete reports whether an ask does not belong to a gang that lacks asks for some of its
// members.
func (s *Scheduler) gangComplete(k *state.Ask) bool {
	g := s.st.Gangs.Of(k)
	return g == nil || g.State != state.GangAsking
}

// GangMayFit reports whether a queue could ever run this many of the smallest containers together
// on the nodes of the cluster. It returns true while the cluster has no nodes.
func (s *Scheduler) GangMayFit(leaf int32, count int64) bool {
	s.refreshCapacities()
	size, nodes := s.cfg.MinAlloc.Times(count), false
	for _, p := range s.partitions {
		if p.total.IsZero() {
			continue
		}
		nodes = true
		if s.cfg.Calculator.FitsIn(size, p.tree.Capacities[leaf].EffMax) {
			return true
		}
	}
	return !nodes
}

// sizeFor returns the size of one container of a reservation.
func (s *Scheduler) sizeFor(r *state.Reservation) yarn.Resource {
	if r.Members == 0 {
		return r.Size
	}
	if ask := s.st.Asks.Find(s.st.Apps.Get(r.App), r.Key); ask != 0 {
		return s.st.Asks.Get(ask).Size
	}
	return r.Size
}
