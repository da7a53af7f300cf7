package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// A View sees the nodes of one label: what queues, users and applications use of them, may use of
// them, and in which order they are served. It is valid until the next input.
type View struct {
	*Scheduler
	at *partition
	// lending says that these nodes are offered to asks without a label. It is YARN's
	// SchedulingMode IGNORE_PARTITION_EXCLUSIVITY.
	lending bool
	loan    loan // the room of a reservation that is offered
}

// In returns a View of the nodes of a label. With lent, it is for asks without a label. Before the
// cluster is initialized, the View answers nothing.
func (s *Scheduler) In(label state.LabelSlot, lent bool) View {
	if s.cfg == nil {
		return View{Scheduler: s, at: &partition{}}
	}
	s.refreshCapacities()
	return View{Scheduler: s, at: s.partitions[label], lending: lent}
}

// view returns a View of a partition for asks with its label.
func (s *Scheduler) view(p *partition) View { return View{Scheduler: s, at: p} }

// Total returns the sum of the nodes.
func (v *View) Total() yarn.Resource { return v.at.total }

// Capacities returns the effective capacities of all queues.
func (v *View) Capacities() []capacity.Capacity { return v.at.tree.Capacities }
