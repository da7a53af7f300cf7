package scheduler

import (
	"cmp"
	"math/bits"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/nodeindex"
	"rmd/yarn"
)

// This file has the rule that chooses a node for an ask, among those that the ask may use at its
// best locality. Eager passes, gangs and ties between reservations use it. It says where a container
// goes, never who gets the next one. The order of nodes is set by node-order:
//
//	spread    the node that uses the smallest share of its memory or vcores, whichever share is
//	          larger; then the one with the least of the further resources, such as GPUs; then the
//	          one with the most vcores and memory
//	pack      the node with the least left over: first of the further resources, so that a container
//	          without GPUs goes where GPUs are used up; then of vcores; then of memory
//	lifetime  among the nodes that pack would choose first, the one whose containers end last
//	          would end least later; then as pack
//	auto      pack for a day after a large container was allocated on a node of the label or
//	          reserved one; otherwise spread
//
// Amounts are compared in classes, four to a doubling, and the lowest slot decides a tie. All this
// follows from the state, so a new leader and a replay choose alike.

const (
	// packLargeMillis is how long auto packs after a large container.
	packLargeMillis = 24 * 60 * 60 * 1000
	// lifetimeNodes is how many nodes lifetime compares.
	lifetimeNodes = 32
	// walkedNodes bounds the nodes of an index that one choice looks at. All but the first are
	// nodes that the ask may not use, or may use only at a wider locality.
	walkedNodes = 512
)

// nodeIndexes has the indexes that were used, by order of shapes. The others are nil.
type nodeIndexes [len(nodeindex.Layouts)]*nodeindex.Index

func (x *nodeIndexes) mark(node state.NodeSlot) {
	for _, index := range x {
		if index != nil {
			index.Mark(node)
		}
	}
}

// refreshNode records that a node has changed.
func (s *Scheduler) refreshNode(slot state.NodeSlot) {
	n := s.st.Nodes.Get(slot) // a zero record if the node was forgotten
	p := s.partitionOf(n)
	p.nodes.mark(slot)
	p.lent.mark(slot)
	s.refreshHost(slot, n.Host)
}

// refreshHost keeps the lists of the nodes on each host.
func (s *Scheduler) refreshHost(slot state.NodeSlot, host state.NameSlot) {
	for int(slot) >= len(s.hostOf) {
		s.hostOf = append(s.hostOf, 0)
	}
	old := s.hostOf[slot]
	if old == host {
		return
	}
	s.hostOf[slot] = host
	if old != 0 {
		s.nodesOn[old] = slices.DeleteFunc(s.nodesOn[old], func(n state.NodeSlot) bool { return n == slot })
	}
	if host != 0 {
		at, _ := slices.BinarySearch(s.nodesOn[host], slot)
		s.nodesOn[host] = slices.Insert(s.nodesOn[host], at, slot)
	}
}

// Replaced reports whether the host of an inactive node has another node that sends heartbeats, or
// that registered later.
func (s *Scheduler) Replaced(slot state.NodeSlot) bool {
	n := s.st.Nodes.Get(slot)
	others := s.nodesOn[n.Host]
	for i := len(others) - 1; i >= 0; i-- { // the newest is probably the last
		if o := s.st.Nodes.Get(others[i]); others[i] != slot && (o.Heard() || o.Registered > n.Registered || o.Registered == n.Registered && others[i] > slot) {
			return true
		}
	}
	return false
}

// freeNodes returns the index of the nodes of a partition that may take containers: those without a
// reservation, or the reserved ones that may lend their room.
func (s *Scheduler) freeNodes(p *partition, lent bool, order int) *nodeindex.Index {
	indexes := &p.nodes
	if lent {
		indexes = &p.lent
	}
	x := indexes[order]
	if x == nil {
		x = nodeindex.New(order)
		indexes[order] = x
		s.st.Nodes.Each(func(slot state.NodeSlot, _ *state.Node) bool { x.Mark(slot); return true })
	}
	x.Refresh(func(slot state.NodeSlot) nodeindex.Shape { return s.shapeIn(p, lent, &x.Layout, s.st.Nodes.Get(slot)) })
	return x
}

// shapeIn returns the shape of a node in an index of a partition, or 0 if the node is not in it.
func (s *Scheduler) shapeIn(p *partition, lent bool, l *nodeindex.Layout, n *state.Node) nodeindex.Shape {
	if n.Label != p.label || !n.TakesContainers() || (n.Reservation != 0) != lent || !s.hasRoom(n) {
		return 0
	}
	return l.ShapeOf(n.Total, n.Unallocated(), s.kindsThatCount())
}

// nodeOrder returns the order of nodes for an application's asks in a partition: that of its queue,
// where auto is replaced by the order that it now means.
func (s *Scheduler) nodeOrder(p *partition, a *state.App) capacity.NodeOrder {
	order := p.cfg.Queues[s.LeafOf(a)].NodeOrder
	if order != capacity.NodeOrderAuto {
		return order
	}
	if at := s.st.LargeContainers.AllocatedAt(p.label); at != 0 && s.now-at < packLargeMillis {
		return capacity.NodeOrderPack
	}
	return capacity.NodeOrderSpread
}

// shapeOrder returns the order of shapes in which an order of nodes begins.
func shapeOrder(o capacity.NodeOrder) int {
	if o == capacity.NodeOrderSpread {
		return nodeindex.Emptiest
	}
	return nodeindex.Fullest
}

// nodeChoice chooses nodes for an ask.
type nodeChoice struct {
	s     *Scheduler
	app   *state.App
	ask   *state.Ask
	delay delay
	order capacity.NodeOrder
	index *nodeindex.Index
	found []nodeRank
}

// nodeRank is the position of a node in the order. The least is the first.
type nodeRank struct {
	avoided  bool // the ask prefers other nodes, even at a wider locality; see avoid.go
	locality yarn.Locality
	prolongs int // lifetime only: see prolongs
	shape    nodeindex.Shape
	node     state.NodeSlot
}

func (r nodeRank) compare(other nodeRank) int {
	return cmp.Or(int(boolToInt(r.avoided)-boolToInt(other.avoided)), cmp.Compare(r.locality, other.locality), cmp.Compare(r.prolongs, other.prolongs),
		cmp.Compare(r.shape, other.shape), cmp.Compare(r.node, other.node))
}

// nodesFor returns the nodes of a partition on which an ask could be served now, the first of the
// order first, up to most.
func (s *Scheduler) nodesFor(p *partition, ask state.AskSlot, lent bool, most int) []nodeRank {
	return s.nodesAfter(p, ask, s.st.Asks.Get(ask).Opportunities, lent, most)
}

// nodesAfter returns what nodesFor returns once an ask has had some opportunities.
func (s *Scheduler) nodesAfter(p *partition, ask state.AskSlot, opportunities uint32, lent bool, most int) []nodeRank {
	k := s.st.Asks.Get(ask)
	a := s.st.Apps.Get(k.App)
	c := nodeChoice{s: s, app: a, ask: k, delay: s.delayOf(k, opportunities), order: s.nodeOrder(p, a), found: s.ranks[:0]}
	c.index = s.freeNodes(p, lent, shapeOrder(c.order))
	within := c.index.Layout.BoundsFor(k.Size, s.kindsThatCount())
	c.lookAtHosts()
	if !slices.ContainsFunc(c.found, func(r nodeRank) bool { return !r.avoided }) {
		c.walk(within, most)
	}
	if c.order == capacity.NodeOrderLifetime {
		c.compareLifetimes()
	}
	slices.SortFunc(c.found, nodeRank.compare)
	s.ranks = c.found
	return c.found[:min(most, len(c.found))]
}

// lookAtHosts adds the nodes on hosts that the ask names.
func (c *nodeChoice) lookAtHosts() {
	if c.ask.Entries <= 1 {
		return
	}
	for _, l := range c.s.st.Locations.Of(c.ask) {
		for _, node := range c.s.nodesOn[l.Name] {
			if at, ok := c.localityOn(node); ok && at == yarn.NodeLocal {
				c.add(node, at)
			}
		}
	}
}

// walk adds nodes on other hosts, until it has enough at the narrowest locality that is possible.
func (c *nodeChoice) walk(within nodeindex.Bounds, most int) {
	narrowest := yarn.OffSwitch
	if c.ask.Entries > 1 && c.delay.allows(yarn.RackLocal, false) {
		narrowest = yarn.RackLocal
	} else if !c.ask.Relax || !c.delay.allows(yarn.OffSwitch, false) {
		return
	}
	if c.order == capacity.NodeOrderLifetime {
		most = max(most, lifetimeNodes)
	}
	walked := 0
	for node := range c.index.Walk(within) {
		if at, ok := c.localityOn(node); ok && at != yarn.NodeLocal {
			r := c.add(node, at)
			most -= int(boolToInt(at == narrowest && !r.avoided))
		}
		if walked++; most <= 0 || walked == walkedNodes {
			return
		}
	}
}

// add adds a node and returns its rank.
func (c *nodeChoice) add(node state.NodeSlot, at yarn.Locality) nodeRank {
	r := nodeRank{avoided: c.s.avoids(c.ask, node), locality: at, shape: c.index.ShapeIn(node), node: node}
	c.found = append(c.found, r)
	return r
}

// localityOn returns the best locality at which the ask could be served on a node now. ok is false
// if it could not.
func (c *nodeChoice) localityOn(node state.NodeSlot) (at yarn.Locality, ok bool) {
	n := c.s.st.Nodes.Get(node)
	if !c.index.Has(node) || c.app.Blacklisted(n) || !c.s.cfg.Calculator.FitsIn(c.ask.Size, n.Unallocated()) {
		return 0, false
	}
	switch r := c.s.reachOf(c.ask, node); {
	case r.host:
		return yarn.NodeLocal, true
	case r.rack && c.delay.allows(yarn.RackLocal, false):
		return yarn.RackLocal, true
	default:
		return yarn.OffSwitch, r.any && c.delay.allows(yarn.OffSwitch, false)
	}
}

// compareLifetimes sets for all nodes found how much longer the container would keep them in use.
func (c *nodeChoice) compareLifetimes() {
	guesses := lengthGuesses{s: c.s}
	end := guesses.endOfNew(c.app, c.ask)
	for i := range c.found {
		c.found[i].prolongs = prolongs(end, guesses.lastEnd(c.found[i].node))
	}
}

// prolongs returns by how much the end of a container exceeds the last end on a node: 0 if it does
// not, and otherwise the number of doublings of a minute, rounded up.
func prolongs(end, last int64) int {
	switch {
	case end <= last:
		return 0
	case end == never:
		return 64
	}
	return 1 + bits.Len64(uint64(end-last)/60_000)
}

// lastEnd returns when the last container of a node is expected to end.
func (e *lengthGuesses) lastEnd(node state.NodeSlot) int64 {
	last := e.s.now
	for _, c := range e.s.st.Containers.On(e.s.st.Nodes.Get(node)) {
		last = max(last, e.endOf(c))
	}
	return last
}

// endOfNew estimates when a container would end that an ask gets now.
func (e *lengthGuesses) endOfNew(a *state.App, k *state.Ask) int64 {
	return e.endOf(&state.Container{App: k.App, AM: k.AM, AllocatedMillis: e.s.now, State: yarn.ContainerAllocated})
}
