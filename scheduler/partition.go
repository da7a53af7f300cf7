package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// partition is what the scheduler derives for the nodes of one label; those without a label are the
// default partition. What it derives for all nodes alike is in Scheduler.
type partition struct {
	label  state.LabelID
	name   string
	cfg    *capacity.Config // the capacities are those of the label
	tree   *capacity.Tree
	total  yarn.Resource // what its usable nodes have
	queues []queueShare  // parallel to cfg.Queues
	uses   []uint32      // of a label's partition: slots in State.LabelUses, parallel to cfg.Queues
	users  []userShare   // by slot
	apps   []bool        // by slot: listed in its leaf; of a label's partition
	nodes  nodeIndex
	lent   nodeIndex // reserved nodes that may lend their room
	lends  bool      // its nodes may serve asks without a label
}

// queueShare is what the planner derives for one queue in one partition.
type queueShare struct {
	key    capacity.OrderKey
	listed bool // among its parent's children
	barred bool // it may not use the label

	children []int32  // of a parent: children with pending asks, in serving order
	active   []uint32 // of a leaf: activated applications with outstanding asks, in serving order

	// Of a partition that lends: whether it has pending asks without a label, and its children
	// that have, in serving order.
	borrows   bool
	borrowers []int32

	dominantUsed yarn.Resource
	own, lent    userLimits // of passes that respect the label, and of those that lend
}

// userLimits is what the users of a leaf may use.
type userLimits struct {
	limit   yarn.Resource
	known   uint64 // queueView.changes when it was computed, and
	refused uint64 // when every application was refused for its user's limit
}

// limits are those of the present pass.
func (s *Scheduler) userLimits(q *queueShare) *userLimits {
	if s.lending {
		return &q.lent
	}
	return &q.own
}

// userShare is what a user adds to its leaf's sums in one partition.
type userShare struct {
	part yarn.Resource
	use  uint32 // of a label's partition: a slot in State.LabelUses
}

// partitionOf is the partition of a node.
func (s *Scheduler) partitionOf(n *state.Node) *partition { return s.partitions[n.Label] }

// makePartitions makes empty partitions for the labels that the cluster knows.
func (s *Scheduler) makePartitions() {
	s.lends = false
	s.partitions = make([]*partition, 1, s.st.Labels.Len()+1)
	s.partitions[0] = &partition{cfg: s.cfg}
	s.st.Labels.Each(func(slot uint32, l *state.Label) bool {
		s.partitions = append(s.partitions, &partition{label: state.LabelID(slot), name: l.Name, cfg: s.cfg.Partition(l.Name), lends: l.Listed && !l.Exclusive})
		return true // slots have no gaps: labels are never forgotten
	})
	for _, p := range s.partitions {
		p.queues = make([]queueShare, len(s.cfg.Queues))
		if p.label != 0 {
			p.uses = make([]uint32, len(s.cfg.Queues))
		}
		for i := range p.queues {
			p.queues[i].barred = !s.cfg.Queues[i].MayUse(p.name)
		}
		s.lends = s.lends || p.lends
		s.compute(p)
	}
	s.at = s.partitions[0]
}

// lists says whether an application is in the list of its leaf, of a label's partition.
func (p *partition) lists(app uint32) bool {
	for int(app) >= len(p.apps) {
		p.apps = append(p.apps, false)
	}
	return p.apps[app]
}

// compute brings the capacities of a partition up to date.
func (s *Scheduler) compute(p *partition) {
	p.total = s.st.PartitionTotal(p.label)
	p.tree = p.cfg.Compute(p.total)
}

// labelUse is what a queue or a user has of a label's partition.
func (s *Scheduler) labelUse(slot uint32) *state.Use {
	if slot == 0 {
		return &noUse
	}
	return &s.st.LabelUses.Get(slot).Use
}

var noUse state.Use // never written

// used is what a queue uses of the partition at hand. This function and those below are inlined
// where they are called, for a cluster without labels.
func (s *Scheduler) used(i int32) *yarn.Resource {
	if s.at.label != 0 {
		return &s.labelUse(s.at.uses[i]).Used
	}
	return &s.Queue(i).Used
}

// reservedOf is the part of what a queue uses of the partition at hand that is reserved.
func (s *Scheduler) reservedOf(i int32) yarn.Resource {
	if s.at.label != 0 {
		return s.labelUse(s.at.uses[i]).Reserved
	}
	return s.Queue(i).Reserved
}

// userUsed is what a user uses of the partition at hand.
func (s *Scheduler) userUsed(slot uint32) *yarn.Resource {
	if s.at.label != 0 {
		return &s.labelUse(s.at.users[slot].use).Used
	}
	return &s.st.Users.Get(slot).Used
}

// reservedIn is what an application has reserved in the partition at hand.
func (s *Scheduler) reservedIn(a *state.App) yarn.Resource {
	if len(s.partitions) == 1 {
		return a.Reserved
	}
	return s.sumReserved(a)
}

func (s *Scheduler) sumReserved(a *state.App) (reserved yarn.Resource) {
	for _, r := range s.st.ReservationsOf(a) {
		if s.st.Nodes.Get(r.Node).Label == s.at.label {
			reserved = reserved.Add(r.Size)
		}
	}
	return reserved
}

// asksFor reports whether an application waits for nodes of a partition.
func (s *Scheduler) asksFor(a *state.App, label state.LabelID) bool {
	if len(s.partitions) == 1 {
		return a.Outstanding > 0
	}
	return s.anyAskFor(a, label)
}

func (s *Scheduler) anyAskFor(a *state.App, label state.LabelID) bool {
	for _, k := range s.st.AsksOf(a) {
		if k.Count > 0 && k.Label == label {
			return true
		}
	}
	return false
}

// amUsed is what the AMs of a leaf use of the partition at hand.
func (s *Scheduler) amUsed(i int32) yarn.Resource {
	if s.at.label != 0 {
		return s.labelUse(s.at.uses[i]).AMUsed
	}
	return s.Queue(i).AMUsed
}
