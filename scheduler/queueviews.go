package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// refreshChain updates the order keys of a queue and its ancestors.
func (s *Scheduler) refreshChain(slot state.QueueSlot) {
	for i := s.indexOf[slot]; i >= 0; i = s.queues[i].parent {
		s.queues[i].touch()
		for _, p := range s.changed {
			if s.useChanged(p) || s.borrows(p, i) != p.queues[i].borrows {
				s.refreshQueue(p, i)
			}
		}
	}
}

// refreshQueues updates all queues in all partitions.
func (s *Scheduler) refreshQueues() {
	for i := range s.queues {
		s.queues[i].touch()
	}
	for _, p := range s.partitions {
		for i := range p.queues {
			s.refreshQueue(p, int32(i))
		}
	}
}

// useChanged reports whether the current event may have changed the use of a partition.
func (s *Scheduler) useChanged(p *partition) bool { return s.uses&(1<<(p.label%64)) != 0 }

func (s *Scheduler) orderKey(p *partition, i int32) capacity.OrderKey {
	from, e := &s.Queue(i).Used, &p.tree.Capacities[i]
	if p.label != 0 {
		from = &s.labelUse(p.uses[i]).Used
	}
	used := *from
	return capacity.OrderKey{
		Used:          capacity.Used(s.cfg.Calculator, p.total, used, e.Measure(), s.cfg.MinAlloc),
		AbsUsed:       capacity.AbsUsed(s.cfg.Calculator, p.total, used),
		AbsCapacity:   e.AbsFixed,
		ConfiguredMin: e.ConfiguredMin,
		Priority:      s.cfg.Queues[i].Priority,
	}
}

// borrows reports whether a queue has asks for which a partition may lend nodes.
func (s *Scheduler) borrows(p *partition, i int32) bool {
	return p.lends && !s.Queue(i).Pending.IsZero()
}

// refreshQueue moves a queue to its position among its parent's children in a partition, and among
// those to which the partition may lend nodes.
func (s *Scheduler) refreshQueue(p *partition, i int32) {
	v, parent := &p.queues[i], s.queues[i].parent
	pending := &s.Queue(i).Pending
	if p.label != 0 {
		p.uses[i] = s.st.LabelUses.QueueSlot(s.queues[i].slot, p.label, p.uses[i])
		pending = &s.labelUse(p.uses[i]).Pending
	}
	if parent < 0 {
		return
	}
	key := s.orderKey(p, i)
	listed, borrows := !pending.IsZero() && !v.barred, s.borrows(p, i)
	if key == v.key && listed == v.listed && borrows == v.borrows {
		return
	}
	above := &p.queues[parent]
	if v.listed {
		above.children = s.removeChild(p, above.children, i)
	}
	if v.borrows {
		above.borrowers = s.removeChild(p, above.borrowers, i)
	}
	v.key, v.listed, v.borrows = key, listed, borrows
	if listed {
		above.children = s.insertChild(p, above.children, i)
	}
	if borrows {
		above.borrowers = s.insertChild(p, above.borrowers, i)
	}
}

// refreshCapacities computes the effective capacities again if they are outdated.
func (s *Scheduler) refreshCapacities() {
	if !s.stale {
		return
	}
	s.stale = false
	s.setChanged(allUses)
	for _, p := range s.partitions {
		s.compute(p)
		for i := range p.queues {
			p.queues[i].dominantUsed = yarn.Resource{}
		}
		p.users = p.users[:0]
	}
	for i := range s.queues {
		s.queues[i].activeWeight = noSums.activeWeight
	}
	s.users = s.users[:0]
	s.st.Users.Each(func(slot state.UserSlot, _ *state.User) bool { s.refreshUser(slot); return true })
	s.refreshQueues()
}
