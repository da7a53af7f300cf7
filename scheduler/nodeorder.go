package scheduler

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/nodeindex"
	"rmd/scheduler/views"
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
//	lifetime  among the nodes that pack would choose first, the one that the container keeps in use
//	          for the fewest doublings longer; then as pack
//	auto      for a day after a large container was allocated on a node of the label or reserved
//	          one: lifetime in queues that lend reserved room, because they use declared lifetimes,
//	          and pack in the others; otherwise spread
//
// Amounts are compared in classes, four to a doubling, and the lowest slot decides a tie. All this
// follows from the state, so a new leader and a replay choose alike.
//
// Source of lifetime: the classes of lifetimes of LAVA (Ling et al., MLSys 2025).

const (
	// packLargeMillis is how long auto packs after a large container.
	packLargeMillis = 24 * 60 * 60 * 1000
	// lifetimeNodes is how many nodes lifetime compares.
	lifetimeNodes = 32
	// walkedNodes bounds the nodes of an index that one choice looks at. All but the first are
	// nodes that the ask may not use, or may use only at a wider locality.
	walkedNodes = 512
)

// NodeOrder returns the order of nodes for an application's asks in a partition: that of its queue,
// where auto is replaced by the order that it now means.
func (s *rules) NodeOrder(p *views.Partition, a *state.App, now int64) capacity.NodeOrder {
	switch q := &p.Config.Queues[s.LeafOf(a)]; {
	case q.NodeOrder != capacity.NodeOrderAuto:
		return q.NodeOrder
	case !s.hadLarge(p.Label, now):
		return capacity.NodeOrderSpread
	case q.Backfill != capacity.BackfillOff:
		return capacity.NodeOrderLifetime
	}
	return capacity.NodeOrderPack
}

// hadLarge reports whether a large container was allocated on a node of a label, or reserved one, less
// than packLargeMillis ago.
func (s *rules) hadLarge(label state.LabelSlot, now int64) bool {
	at := s.State.LargeContainers.AllocatedAt(label)
	return at != 0 && now-at < packLargeMillis
}

// ShapeOrder returns the order of shapes in which an order of nodes begins.
func ShapeOrder(o capacity.NodeOrder) int {
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
	prolongs int // lifetime only: by how many classes the container prolongs the node's use
	shape    nodeindex.Shape
	node     state.NodeSlot
}

func (r nodeRank) compare(other nodeRank) int {
	return cmp.Or(compareBools(r.avoided, other.avoided), cmp.Compare(r.locality, other.locality),
		cmp.Compare(r.prolongs, other.prolongs),
		cmp.Compare(r.shape, other.shape), cmp.Compare(r.node, other.node))
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// nodesFor returns the nodes of a partition on which an ask could be served now, the first of the
// order first, up to most.
func (s *Scheduler) nodesFor(p *views.Partition, ask state.AskSlot, lent bool, most int) []nodeRank {
	return s.nodesAfter(p, ask, s.State.Asks.Get(ask).Opportunities, lent, most)
}

// FreeNode returns the first node of the order on which an ask could be served now if it waits for no
// locality, or 0 if there is none.
func (s *Scheduler) FreeNode(p *views.Partition, ask state.AskSlot) state.NodeSlot {
	for _, r := range s.nodesAfter(p, ask, math.MaxUint32, false, 1) {
		return r.node
	}
	return 0
}

// nodesAfter returns what nodesFor returns once an ask has had some opportunities.
func (s *Scheduler) nodesAfter(p *views.Partition, ask state.AskSlot, opportunities uint32, lent bool,
	most int) []nodeRank {
	k := s.State.Asks.Get(ask)
	a := s.State.Apps.Get(k.App)
	c := nodeChoice{s: s, app: a, ask: k, delay: s.delayOf(k, opportunities), order: s.NodeOrder(p, a, s.now),
		found: s.ranks[:0]}
	c.index = s.FreeNodes(p, lent, ShapeOrder(c.order))
	within := c.index.Layout.BoundsFor(k.Size, s.KindsThatCount())
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
	for _, l := range c.s.State.Locations.Of(c.ask) {
		for _, node := range c.s.NodesOn[l.Name] {
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
			if r := c.add(node, at); at == narrowest && !r.avoided {
				most--
			}
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
	n := c.s.State.Nodes.Get(node)
	if !c.index.Has(node) || c.app.Blacklisted(n) || !c.s.Config.Calculator.FitsIn(c.ask.Size, n.Unallocated()) {
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

// compareLifetimes sets for all nodes found by how much the container would prolong their use.
func (c *nodeChoice) compareLifetimes() {
	guesses := lengthGuesses{s: c.s, now: c.s.now}
	class := lifetimeClass(guesses.endOfNew(c.ask.App, c.ask.AM) - c.s.now)
	for i := range c.found {
		c.found[i].prolongs = class - guesses.classOf(c.found[i].node, class)
	}
}

// lifetimeClass returns the class of a time in which a node is still in use: 0 below a second, then
// one class for each doubling. What is prolonged within its class costs nothing, so that containers
// which end at about the same time share nodes. Otherwise it costs less to prolong what is long.
func lifetimeClass(millis int64) int { return bits.Len64(uint64(millis) / 1000) }

// classOf returns the class of the time until the last container of a node is expected to end, but no
// more than most.
func (e *lengthGuesses) classOf(node state.NodeSlot, most int) int {
	class := 0
	for _, c := range e.s.State.Containers.On(e.s.State.Nodes.Get(node)) {
		if class = max(class, lifetimeClass(e.endOf(c)-e.now)); class >= most {
			return most
		}
	}
	return class
}
