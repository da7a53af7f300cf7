package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// partition has what the scheduler derives for the nodes of one label. Nodes without a label are
// the default partition. Scheduler itself has what does not depend on the label.
type partition struct {
	label  state.LabelSlot
	name   string
	cfg    *capacity.Config // with the capacities of the label
	tree   *capacity.Tree
	total  yarn.Resource        // sum of its usable nodes
	queues []queueShare         // parallel to cfg.Queues
	uses   []state.LabelUseSlot // parallel to cfg.Queues: slots in State.LabelUses; nil: default partition
	users  []userShare          // by slot
	apps   []bool               // by slot: whether it is in the list of its leaf; not for the default partition
	nodes  nodeIndexes          // nodes without a reservation
	lent   nodeIndexes          // reserved nodes, which may lend their room
	lends  bool                 // its nodes may be lent to asks without a label

	// awaiting caches the results of awaitingPreemption, parallel to cfg.Queues. nil: not computed.
	awaiting []yarn.Resource
}

// fork returns a copy without the indexes of nodes, which are built when they are used.
func (p *partition) fork() *partition {
	f := *p
	tree := *p.tree
	tree.Capacities = slices.Clone(tree.Capacities)
	f.tree, f.queues, f.uses, f.users, f.apps = &tree, slices.Clone(p.queues), slices.Clone(p.uses), slices.Clone(p.users), slices.Clone(p.apps)
	for i := range f.queues {
		q := &f.queues[i]
		q.children, q.active, q.borrowers = slices.Clone(q.children), slices.Clone(q.active), slices.Clone(q.borrowers)
	}
	f.nodes, f.lent, f.awaiting = nodeIndexes{}, nodeIndexes{}, nil
	return &f
}

// queueShare has what the scheduler derives for one queue in one partition.
type queueShare struct {
	key    capacity.OrderKey
	listed bool // in its parent's list of children
	barred bool // the queue may not use the label

	children []int32         // of a parent: children with pending asks, in serving order
	active   []state.AppSlot // of a leaf: activated applications with outstanding asks, in serving order

	// For a partition that lends: whether the queue has pending asks without a label, and which of
	// its children do, in serving order.
	borrows   bool
	borrowers []int32

	dominantUsed yarn.Resource
	own, lent    userLimits // for passes that respect the label, and for those that lend
}

// userLimits caches the limit of the users of a leaf.
type userLimits struct {
	limit   yarn.Resource
	known   uint64 // value of queueView.changes when limit was computed
	refused uint64 // value of queueView.changes when the user limit refused every application
}

// userLimits returns the limits for asks with the label, or for those without.
func (v *View) userLimits(q *queueShare) *userLimits {
	if v.lending {
		return &q.lent
	}
	return &q.own
}

// userShare is what a user contributes to the sums of its leaf in one partition.
type userShare struct {
	part yarn.Resource
	use  state.LabelUseSlot // slot in State.LabelUses; not for the default partition
}

// partitionOf returns the partition of a node.
func (s *Scheduler) partitionOf(n *state.Node) *partition { return s.partitions[n.Label] }

// makePartitions makes empty partitions for all labels that the cluster knows.
func (s *Scheduler) makePartitions() {
	s.lends = false
	s.partitions = make([]*partition, 1, s.st.Labels.Len()+1)
	s.partitions[0] = &partition{cfg: s.cfg}
	s.st.Labels.Each(func(slot state.LabelSlot, l *state.Label) bool {
		s.partitions = append(s.partitions, &partition{label: slot, name: l.Name, cfg: s.cfg.Partition(l.Name), lends: l.Listed && !l.Exclusive})
		return true // slots have no gaps, because labels are never forgotten
	})
	for _, p := range s.partitions {
		p.queues = make([]queueShare, len(s.cfg.Queues))
		if p.label != 0 {
			p.uses = make([]state.LabelUseSlot, len(s.cfg.Queues))
		}
		for i := range p.queues {
			p.queues[i].barred = !s.cfg.Queues[i].MayUse(p.name)
		}
		s.lends = s.lends || p.lends
		s.compute(p)
	}
}

// lists reports whether an application is in the list of its leaf. It is for labels' partitions
// only.
func (p *partition) lists(app state.AppSlot) bool {
	for int(app) >= len(p.apps) {
		p.apps = append(p.apps, false)
	}
	return p.apps[app]
}

// compute computes the total and the capacities of a partition.
func (s *Scheduler) compute(p *partition) {
	p.total = s.st.PartitionTotal(p.label)
	p.tree = p.cfg.Compute(p.total)
}

// labelUse returns the LabelUse at a slot, or a zero Use for slot 0.
func (s *Scheduler) labelUse(slot state.LabelUseSlot) *state.Use {
	if slot == 0 {
		return &noUse
	}
	return &s.st.LabelUses.Get(slot).Use
}

var noUse state.Use // read only

// used returns what a queue uses. This method and the next ones are small
// enough to be inlined, for clusters without labels.
func (v *View) used(i int32) *yarn.Resource {
	if v.at.label != 0 {
		return &v.labelUse(v.at.uses[i]).Used
	}
	return &v.Queue(i).Used
}

// reservedOf returns what a queue has reserved.
func (v *View) reservedOf(i int32) yarn.Resource {
	if v.at.label != 0 {
		return v.labelUse(v.at.uses[i]).Reserved
	}
	return v.Queue(i).Reserved
}

// userUsed returns what a user uses.
func (v *View) userUsed(slot state.UserSlot) *yarn.Resource {
	if v.at.label != 0 {
		return &v.labelUse(v.at.users[slot].use).Used
	}
	return &v.st.Users.Get(slot).Used
}

// reservedIn returns what an application has reserved.
func (v *View) reservedIn(a *state.App) yarn.Resource {
	if len(v.partitions) == 1 {
		return a.Reserved
	}
	return v.sumReserved(a)
}

func (v *View) sumReserved(a *state.App) (reserved yarn.Resource) {
	for _, r := range v.st.Reservations.Of(a) {
		if v.st.Nodes.Get(r.Node).Label == v.at.label {
			reserved = reserved.Add(r.Size)
		}
	}
	return reserved
}

// asksFor reports whether an application has asks for nodes of a label.
func (s *Scheduler) asksFor(a *state.App, label state.LabelSlot) bool {
	if len(s.partitions) == 1 {
		return a.Outstanding > 0
	}
	return s.anyAskFor(a, label)
}

func (s *Scheduler) anyAskFor(a *state.App, label state.LabelSlot) bool {
	for _, k := range s.st.Asks.Of(a) {
		if k.Count > 0 && k.Label == label {
			return true
		}
	}
	return false
}

// amUsed returns what the AMs of a leaf use.
func (v *View) amUsed(i int32) yarn.Resource {
	if v.at.label != 0 {
		return v.labelUse(v.at.uses[i]).AMUsed
	}
	return v.Queue(i).AMUsed
}
