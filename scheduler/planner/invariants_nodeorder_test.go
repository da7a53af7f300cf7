package planner

import (
	"fmt"
	"math/bits"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// nodeChoice is the choice of a node of one label for an ask, made by a loop over all nodes.
type nodeChoice struct {
	m     *machine
	cfg   *capacity.Config // of the label
	app   *state.App
	ask   *state.Ask
	slot  state.AskSlot // of the ask
	label state.LabelSlot
	lent  bool // among reserved nodes
	order capacity.NodeOrder
	kinds int // that the calculator compares
}

// checkFirstNodes checks for each ask and label that the order of nodes begins with the best node.
func (m *machine) checkFirstNodes() error {
	if !m.choosing && m.now/10%8 != 0 { // it costs more than all other checks, and TestRandomChoices makes all comparisons
		return nil
	}
	st, probe := m.p.st, m.p.sched.Probe()
	for label := range partitionsOf(st) {
		cfg := m.p.Config()
		if label != 0 {
			cfg = cfg.Partition(st.Labels.Name(label))
		}
		for _, lent := range []bool{false, true} {
			var err error
			st.Asks.Each(func(slot state.AskSlot, k *state.Ask) bool {
				if a := st.Apps.Get(k.App); k.Count > 0 && k.IncreaseOf == 0 && a.Activated() {
					c := nodeChoice{m: m, cfg: cfg, app: a, ask: k, slot: slot, label: label, lent: lent}
					if got, want := probe.FirstNode(label, slot, lent), c.best(); got != want {
						err = fmt.Errorf(
							"42: %s has node %d first for ask %d (%v) of label %q, reserved %v; in order %s node %d is the best", a.ID, got,
							slot, k.Size, st.Labels.Name(label), lent, c.order, want)
					}
				}
				return err == nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// best returns the best node, or 0 if the ask may use none now.
func (c *nodeChoice) best() (best state.NodeSlot) {
	c.kinds = 1
	if c.cfg.Calculator.Dominant {
		c.kinds = len(c.cfg.Kinds)
	}
	c.order = c.cfg.Queues[c.m.p.sched.LeafOf(c.app)].NodeOrder
	if c.order == capacity.NodeOrderAuto {
		c.order = capacity.NodeOrderSpread
		if at := c.m.p.st.LargeContainers.AllocatedAt(c.label); at > 0 && at > c.m.now-86_400_000 {
			c.order = capacity.NodeOrderPack
			if c.cfg.Queues[c.m.p.sched.LeafOf(c.app)].Backfill != capacity.BackfillOff {
				c.order = capacity.NodeOrderLifetime
			}
		}
	}
	var first []int64
	c.m.p.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if rank := c.rank(slot, n); rank != nil && (first == nil || slices.Compare(rank, first) < 0) {
			best, first = slot, rank
		}
		return true
	})
	return best
}

// rank returns the properties of a node by which the order decides, the least first, or nil if the
// ask cannot use the node now.
func (c *nodeChoice) rank(slot state.NodeSlot, n *state.Node) []int64 {
	at := c.locality(n)
	if n.Label != c.label || !n.TakesContainers() || (n.Reservation != 0) != c.lent || at == 0 ||
		!c.takes(n) || !c.asks(n) {
		return nil
	}
	rank := []int64{c.avoided(slot), at}
	free := n.Unallocated()
	var further []int64
	for i := 2; i < c.kinds; i++ {
		further = append(further, quarters(free[i]))
	}
	memory, vcores := quarters(free[yarn.Memory]), quarters(free[yarn.VCores])
	if c.kinds == 1 {
		vcores = 0
	}
	if c.order == capacity.NodeOrderSpread {
		return append(append(append(rank, c.use(n)), further...), -vcores, -memory)
	}
	if c.order == capacity.NodeOrderLifetime { // all nodes are compared, because there are few
		rank = append(rank, c.prolongs(slot))
	}
	return append(append(rank, further...), vcores, memory)
}

// takes reports whether a node has room for the smallest container and for that of the ask.
func (c *nodeChoice) takes(n *state.Node) bool {
	free := n.Unallocated()
	for i := range c.kinds {
		if free[i] < max(c.cfg.MinAlloc[i], c.ask.Size[i], 0) {
			return false
		}
	}
	return true
}

// asks reports whether the ask may use nodes of the label, and this one.
func (c *nodeChoice) asks(n *state.Node) bool {
	if slices.Contains(c.app.Blacklist, n.Host) || slices.Contains(c.app.Blacklist, n.RackID) {
		return false
	}
	if c.ask.Label == c.label {
		return true
	}
	l := c.m.p.st.Labels.Get(max(c.label, 1))
	return c.label != 0 && c.ask.Label == 0 && l.Listed && !l.Exclusive &&
		(!c.ask.AM || c.cfg.LabelSettings.AMNonExclusive)
}

// locality returns 1, 2 or 3 for the narrowest locality that is possible now, or 0.
func (c *nodeChoice) locality(n *state.Node) int64 {
	probe := c.m.p.sched.Probe()
	onHost, onRack, strict := false, false, !c.ask.Relax
	for _, l := range c.m.p.st.Locations.Of(c.ask) {
		onHost = onHost || l.Name == n.Host
		if l.Name == n.RackID {
			onRack, strict = l.Relax, strict || !l.Relax
		}
	}
	switch {
	case onHost:
		return 1
	case onRack && probe.Allows(c.slot, yarn.RackLocal):
		return 2
	case !strict && probe.Allows(c.slot, yarn.OffSwitch):
		return 3
	}
	return 0
}

// avoided returns 1 if the ask prefers other nodes.
func (c *nodeChoice) avoided(slot state.NodeSlot) int64 {
	for _, v := range c.m.p.st.Avoided {
		if v.Node == slot && v.App == c.app.ID.Seq && v.Key == c.ask.Key && v.UntilMillis > c.m.now {
			return 1
		}
	}
	return 0
}

// use returns the larger used share of memory and vcores, in parts of 255.
func (c *nodeChoice) use(n *state.Node) (most int64) {
	free := n.Unallocated()
	for i := range min(c.kinds, 2) {
		if n.Total[i] > 0 {
			most = max(most, (n.Total[i]-max(free[i], 0))*255/n.Total[i])
		}
	}
	return most
}

// prolongs returns how many more powers of two, in seconds, the container would keep a node in use.
func (c *nodeChoice) prolongs(slot state.NodeSlot) int64 {
	probe, st := c.m.p.sched.Probe(), c.m.p.st
	last := c.m.now
	st.Containers.Each(func(_ state.ContainerSlot, k *state.Container) bool {
		if k.OnNode && k.Node == slot {
			last = max(last, probe.EndOf(k))
		}
		return true
	})
	end := probe.EndOf(&state.Container{App: c.ask.App, AM: c.ask.AM, AllocatedMillis: c.m.now,
		State: yarn.ContainerAllocated})
	more := int64(0)
	for power := int64(1000); power <= end-c.m.now; power *= 2 {
		if power > last-c.m.now {
			more++
		}
	}
	return more
}

// quarters returns the class of an amount: 0 for nothing, then four classes for each doubling.
func quarters(amount int64) int64 {
	if amount <= 0 {
		return 0
	}
	doubling := int64(bits.Len64(uint64(amount)) - 1)
	from := int64(1) << doubling
	return 1 + 4*doubling + (amount-from)*4/from
}
