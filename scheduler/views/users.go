package views

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity/limits"
	"rmd/yarn"
)

func (s *Views) refreshUser(slot state.UserSlot) {
	if slot == 0 {
		return
	}
	for int(slot) >= len(s.Users) {
		s.Users = append(s.Users, User{})
	}
	v := s.Users[slot]
	var next User
	if s.State.Users.Has(slot) {
		u := s.State.Users.Get(slot)
		leaf := s.indexOf[u.Queue]
		next = User{Leaf: leaf, name: u.Name, Known: true, active: u.IsActive(), Weight: v.Weight}
		if !v.Known || v.Leaf != leaf || v.name != u.Name {
			next.Weight = s.Config.Queues[leaf].Weight(s.State.Names.Text(u.Name))
		}
	}
	among := s.changed
	if v.Leaf != next.Leaf || v.Known != next.Known {
		among = s.Partitions
	}
	for _, p := range among {
		s.refreshShare(p, slot, &v, &next)
	}
	if v.Leaf != next.Leaf || v.active != next.active || v.Weight != next.Weight {
		if v.Known && v.active {
			q := &s.Queues[v.Leaf]
			q.activeWeight = AddFraction(q.activeWeight, v.Weight, -1)
		}
		if next.Known && next.active {
			q := &s.Queues[next.Leaf]
			q.activeWeight = AddFraction(q.activeWeight, next.Weight, 1)
		}
	}
	s.Users[slot] = next
}

// refreshShare updates what a user contributes to the sums of its leaf in a partition. The event
// may have given the slot to another user, so the old contribution is subtracted completely.
func (s *Views) refreshShare(p *Partition, slot state.UserSlot, v, next *User) {
	for int(slot) >= len(p.Users) {
		p.Users = append(p.Users, UserShare{})
	}
	share := &p.Users[slot]
	if !s.useChanged(p) && v.Leaf == next.Leaf && v.Known == next.Known {
		return
	}
	if v.Known {
		q := &p.Queues[v.Leaf]
		q.dominantUsed = q.dominantUsed.Sub(share.part)
	}
	if !next.Known {
		*share = UserShare{}
		return
	}
	used := &s.State.Users.Get(slot).Used
	if p.Label != 0 {
		share.Use = s.State.LabelUses.UserSlot(slot, p.Label, share.Use)
		used = &s.LabelUse(share.Use).Used
	}
	share.part = limits.DominantPart(s.Config.Calculator, p.Total, *used)
	q := &p.Queues[next.Leaf]
	q.dominantUsed = q.dominantUsed.Add(share.part)
}

// AddFraction adds a user's weight to a sum, or subtracts it. Weights have at most nine decimals,
// so all denominators divide 10^9, and so does their least common multiple. With the product of the
// denominators instead, the sum of twenty weights would not fit into 64 bits.
func AddFraction(a, b yarn.Fraction, sign int64) yarn.Fraction {
	den := yarn.NewFraction(a.Den, b.Den).Num * b.Den
	return yarn.NewFraction(a.Num*(den/a.Den)+sign*b.Num*(den/b.Den), den)
}
