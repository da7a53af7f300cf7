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
	uses   []state.Use   // parallel to cfg.Queues; of a label's partition, the Queue has the default one's
	users  []userShare   // by slot
	apps   []bool        // by slot: listed in its leaf; of a label's partition
	nodes  nodeIndex
	lends  bool // its nodes may serve asks without a label
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
	known   bool // else it must be computed
	limit   yarn.Resource
	refused bool // nothing has changed since every application was refused for its user's limit
}

// touch notes that something has changed that a leaf's limits depend on.
func (q *queueShare) touch() {
	q.own.known, q.own.refused = false, false
	q.lent.known, q.lent.refused = false, false
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
	used yarn.Resource // of a label's partition; of the default one the User has it
}

// partitionOf is the partition of a node.
func (s *Scheduler) partitionOf(n *state.Node) *partition { return s.partitions[n.Label] }

// labelled are the partitions of labels.
func (s *Scheduler) labelled() []*partition { return s.partitions[1:] }

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
			p.uses = make([]state.Use, len(s.cfg.Queues))
		}
		for i := range p.queues {
			p.queues[i].barred = !s.cfg.Queues[i].MayUse(p.name)
		}
		s.lends = s.lends || p.lends
		s.compute(p)
	}
	s.at = s.partitions[0]
}

// compute brings the capacities of a partition up to date.
func (s *Scheduler) compute(p *partition) {
	p.total = s.st.PartitionTotal(p.label)
	p.tree = p.cfg.Compute(p.total)
}

// used is what a queue uses of the partition at hand. This function and those below are inlined
// where they are called, for a cluster without labels.
func (s *Scheduler) used(i int32) *yarn.Resource {
	if s.at.label != 0 {
		return &s.at.uses[i].Used
	}
	return &s.Queue(i).Used
}

// userUsed is what a user uses of the partition at hand.
func (s *Scheduler) userUsed(slot uint32) *yarn.Resource {
	if s.at.label != 0 {
		return &s.at.users[slot].used
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
		return s.at.uses[i].AMUsed
	}
	return s.Queue(i).AMUsed
}
