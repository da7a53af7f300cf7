package views

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// A View sees the nodes of one label: what queues, users and applications use of them, may use of
// them, and in which order they are served. It is valid until the next input.
type View struct {
	*Views
	At *Partition
	// Lending says that these nodes are offered to asks without a label. It is YARN's
	// SchedulingMode IGNORE_PARTITION_EXCLUSIVITY.
	Lending bool
	Loan    Loan // the room of a reservation that is offered
}

// In returns a View of the nodes of a label. With lent, it is for asks without a label. Before the
// cluster is initialized, the View answers nothing.
func (s *Views) In(label state.LabelSlot, lent bool) View {
	if s.Config == nil {
		return View{Views: s, At: &Partition{}}
	}
	s.RefreshCapacities()
	return View{Views: s, At: s.Partitions[label], Lending: lent}
}

// On returns a View of a partition for asks with its label.
func (s *Views) On(p *Partition) View { return View{Views: s, At: p} }

// Total returns the sum of the nodes.
func (v *View) Total() yarn.Resource { return v.At.Total }

// Capacities returns the effective capacities of all queues.
func (v *View) Capacities() []capacity.Capacity { return v.At.Tree.Capacities }

// Loan is the room that a pass lends. The zero value lends nothing.
type Loan struct {
	Reservation uint64
	Size        yarn.Resource // of the reservation
	Leaf        int32         // the leaf to which the reservation is charged
	Until       int64         // the earliest time at which the reservation can be fulfilled
}

// Lends reports whether there is room of a reserved node to lend.
func (l Loan) Lends() bool { return l.Reservation != 0 }

// LabelServed returns the label of the asks to which this view offers a node.
func (v *View) LabelServed(n *state.Node) state.LabelSlot {
	if v.Lending {
		return 0
	}
	return n.Label
}

// Tree returns the effective capacities for the current cluster, or nil before the cluster is
// initialized.
func (s *Views) Tree() *capacity.Tree {
	if s.Config == nil {
		return nil
	}
	s.RefreshCapacities()
	return s.Partitions[0].Tree
}

// TreeOf returns the effective capacities for the nodes of a label, or nil if the cluster does not
// know the label.
func (s *Views) TreeOf(label string) *capacity.Tree {
	id := s.State.Labels.Find(label)
	if label != "" && id == 0 {
		return nil
	}
	s.RefreshCapacities()
	return s.Partitions[id].Tree
}

// LeafOf returns the index of an application's queue in the configuration.
func (s *Views) LeafOf(a *state.App) int32 { return s.indexOf[a.Queue] }

// IndexOf returns the index of the queue at a slot in the configuration.
func (s *Views) IndexOf(slot state.QueueSlot) int32 { return s.indexOf[slot] }

// Queue returns the record of the i-th queue of the configuration.
func (s *Views) Queue(i int32) *state.Queue { return s.State.Queues.Get(s.Queues[i].Slot) }
