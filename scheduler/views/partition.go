package views

import (
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/order"
	"rmd/yarn"
)

// Partition has what the scheduler derives for the nodes of one label. Nodes without a label are
// the default partition. Views itself has what does not depend on the label.
type Partition struct {
	Label  state.LabelSlot
	name   string
	Config *capacity.Config // with the capacities of the label
	Tree   *capacity.Tree
	Total  yarn.Resource        // sum of its usable nodes
	Queues []QueueShare         // parallel to Config.Queues
	Uses   []state.LabelUseSlot // parallel to Config.Queues: slots in State.LabelUses; nil: default partition
	Users  []UserShare          // by slot
	apps   []bool               // by slot: whether it is in the list of its leaf; not for the default partition
	nodes  nodeIndexes          // nodes without a reservation
	lent   nodeIndexes          // reserved nodes, which may lend their room
	Lends  bool                 // its nodes may be lent to asks without a label

	// awaiting caches the results of awaitingPreemption, parallel to Config.Queues. nil: not computed.
	awaiting []yarn.Resource
}

// fork returns a copy without the indexes of nodes, which are built when they are used.
func (p *Partition) fork() *Partition {
	f := *p
	tree := *p.Tree
	tree.Capacities = slices.Clone(tree.Capacities)
	f.Tree, f.Queues, f.Uses, f.Users, f.apps = &tree, slices.Clone(p.Queues), slices.Clone(p.Uses), slices.Clone(p.Users),
		slices.Clone(p.apps)
	for i := range f.Queues {
		q := &f.Queues[i]
		q.children, q.Active, q.borrowers = slices.Clone(q.children), slices.Clone(q.Active), slices.Clone(q.borrowers)
	}
	f.nodes, f.lent, f.awaiting = nodeIndexes{}, nodeIndexes{}, nil
	return &f
}

// QueueShare has what the scheduler derives for one queue in one partition.
type QueueShare struct {
	Key    order.Key
	listed bool // in its parent's list of children
	barred bool // the queue may not use the label

	children []int32         // of a parent: children with pending asks, in serving order
	Active   []state.AppSlot // of a leaf: activated applications with outstanding asks, in serving order

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
	known   uint64 // value of Queue.Changes when limit was computed
	Refused uint64 // value of Queue.Changes when the user limit refused every application
}

// UserLimits returns the limits for asks with the label, or for those without.
func (v *View) UserLimits(q *QueueShare) *userLimits {
	if v.Lending {
		return &q.lent
	}
	return &q.own
}

// UserShare is what a user contributes to the sums of its leaf in one partition.
type UserShare struct {
	part yarn.Resource
	Use  state.LabelUseSlot // slot in State.LabelUses; not for the default partition
}

// PartitionOf returns the partition of a node.
func (s *Views) PartitionOf(n *state.Node) *Partition { return s.Partitions[n.Label] }

// makePartitions makes empty partitions for all labels that the cluster knows.
func (s *Views) makePartitions() {
	s.Lends = false
	s.Partitions = make([]*Partition, 1, s.State.Labels.Len()+1)
	s.Partitions[0] = &Partition{Config: s.Config}
	s.State.Labels.Each(func(slot state.LabelSlot, l *state.Label) bool {
		s.Partitions = append(s.Partitions, &Partition{Label: slot, name: l.Name, Config: s.Config.Partition(l.Name),
			Lends: l.Listed && !l.Exclusive})
		return true // slots have no gaps, because labels are never forgotten
	})
	for _, p := range s.Partitions {
		p.Queues = make([]QueueShare, len(s.Config.Queues))
		if p.Label != 0 {
			p.Uses = make([]state.LabelUseSlot, len(s.Config.Queues))
		}
		for i := range p.Queues {
			p.Queues[i].barred = !s.Config.Queues[i].MayUse(p.name)
		}
		s.Lends = s.Lends || p.Lends
		s.compute(p)
	}
}

// lists reports whether an application is in the list of its leaf. It is for labels' partitions
// only.
func (p *Partition) lists(app state.AppSlot) bool {
	for int(app) >= len(p.apps) {
		p.apps = append(p.apps, false)
	}
	return p.apps[app]
}

// compute computes the total and the capacities of a partition.
func (s *Views) compute(p *Partition) {
	p.Total = s.State.PartitionTotal(p.Label)
	p.Tree = p.Config.Compute(p.Total)
}

// LabelUse returns the LabelUse at a slot, or a zero Use for slot 0.
func (s *Views) LabelUse(slot state.LabelUseSlot) *state.Use {
	if slot == 0 {
		return &noUse
	}
	return &s.State.LabelUses.Get(slot).Use
}

var noUse state.Use // read only

// Used returns what a queue uses. This method and the next ones are small
// enough to be inlined, for clusters without labels.
func (v *View) Used(i int32) *yarn.Resource {
	if v.At.Label != 0 {
		return &v.LabelUse(v.At.Uses[i]).Used
	}
	return &v.Queue(i).Used
}

// ReservedOf returns what a queue has reserved.
func (v *View) ReservedOf(i int32) yarn.Resource {
	if v.At.Label != 0 {
		return v.LabelUse(v.At.Uses[i]).Reserved
	}
	return v.Queue(i).Reserved
}

// UserUsed returns what a user uses.
func (v *View) UserUsed(slot state.UserSlot) *yarn.Resource {
	if v.At.Label != 0 {
		return &v.LabelUse(v.At.Users[slot].Use).Used
	}
	return &v.State.Users.Get(slot).Used
}

// ReservedIn returns what an application has reserved.
func (v *View) ReservedIn(a *state.App) yarn.Resource {
	if len(v.Partitions) == 1 {
		return a.Reserved
	}
	return v.sumReserved(a)
}

func (v *View) sumReserved(a *state.App) (reserved yarn.Resource) {
	for _, r := range v.State.Reservations.Of(a) {
		if v.State.Nodes.Get(r.Node).Label == v.At.Label {
			reserved = reserved.Add(r.Size)
		}
	}
	return reserved
}

// asksFor reports whether an application has asks for nodes of a label.
func (s *Views) asksFor(a *state.App, label state.LabelSlot) bool {
	if len(s.Partitions) == 1 {
		return a.Outstanding > 0
	}
	return s.anyAskFor(a, label)
}

func (s *Views) anyAskFor(a *state.App, label state.LabelSlot) bool {
	for _, k := range s.State.Asks.Of(a) {
		if k.Count > 0 && k.Label == label {
			return true
		}
	}
	return false
}

// AMUsed returns what the AMs of a leaf use.
func (v *View) AMUsed(i int32) yarn.Resource {
	if v.At.Label != 0 {
		return v.LabelUse(v.At.Uses[i]).AMUsed
	}
	return v.Queue(i).AMUsed
}
