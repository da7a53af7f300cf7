package views

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity/order"
	"rmd/yarn"
)

// refreshChain updates the order keys of a queue and its ancestors.
func (s *Views) refreshChain(slot state.QueueSlot) {
	for i := s.indexOf[slot]; i >= 0; i = s.Queues[i].Parent {
		s.Queues[i].touch()
		for _, p := range s.changed {
			if s.useChanged(p) || s.borrows(p, i) != p.Queues[i].borrows {
				s.refreshQueue(p, i)
			}
		}
	}
}

// refreshQueues updates all queues in all partitions.
func (s *Views) refreshQueues() {
	for i := range s.Queues {
		s.Queues[i].touch()
	}
	for _, p := range s.Partitions {
		for i := range p.Queues {
			s.refreshQueue(p, int32(i))
		}
	}
}

// useChanged reports whether the current event may have changed the use of a partition.
func (s *Views) useChanged(p *Partition) bool { return s.uses&(1<<(p.Label%64)) != 0 }

func (s *Views) orderKey(p *Partition, i int32) order.Key {
	from, e := &s.Queue(i).Used, &p.Tree.Capacities[i]
	if p.Label != 0 {
		from = &s.LabelUse(p.Uses[i]).Used
	}
	used := *from
	return order.Key{
		Used:          order.Used(s.Config.Calculator, p.Total, used, e.Measure(), s.Config.MinAlloc),
		AbsUsed:       order.AbsUsed(s.Config.Calculator, p.Total, used),
		AbsCapacity:   e.AbsFixed,
		ConfiguredMin: e.ConfiguredMin,
		Priority:      s.Config.Queues[i].Priority,
	}
}

// borrows reports whether a queue has asks for which a partition may lend nodes.
func (s *Views) borrows(p *Partition, i int32) bool {
	return p.Lends && !s.Queue(i).Pending.IsZero()
}

// refreshQueue moves a queue to its position among its parent's children in a partition, and among
// those to which the partition may lend nodes.
func (s *Views) refreshQueue(p *Partition, i int32) {
	v, parent := &p.Queues[i], s.Queues[i].Parent
	pending := &s.Queue(i).Pending
	if p.Label != 0 {
		p.Uses[i] = s.State.LabelUses.QueueSlot(s.Queues[i].Slot, p.Label, p.Uses[i])
		pending = &s.LabelUse(p.Uses[i]).Pending
	}
	if parent < 0 {
		return
	}
	key := s.orderKey(p, i)
	listed, borrows := !pending.IsZero() && !v.barred, s.borrows(p, i)
	if key == v.Key && listed == v.listed && borrows == v.borrows {
		return
	}
	above := &p.Queues[parent]
	if v.listed {
		above.children = s.removeChild(p, above.children, i)
	}
	if v.borrows {
		above.borrowers = s.removeChild(p, above.borrowers, i)
	}
	v.Key, v.listed, v.borrows = key, listed, borrows
	if listed {
		above.children = s.insertChild(p, above.children, i)
	}
	if borrows {
		above.borrowers = s.insertChild(p, above.borrowers, i)
	}
}

// RefreshCapacities computes the effective capacities again if they are outdated.
func (s *Views) RefreshCapacities() {
	if !s.stale {
		return
	}
	s.stale = false
	s.setChanged(allUses)
	for _, p := range s.Partitions {
		s.compute(p)
		for i := range p.Queues {
			p.Queues[i].dominantUsed = yarn.Resource{}
		}
		p.Users = p.Users[:0]
	}
	for i := range s.Queues {
		s.Queues[i].activeWeight = noSums.activeWeight
	}
	s.Users = s.Users[:0]
	s.State.Users.Each(func(slot state.UserSlot, _ *state.User) bool { s.refreshUser(slot); return true })
	s.refreshQueues()
}
