package state

import (
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// QueueUse returns what a queue uses and wants of a partition.
func (s *Accounts) QueueUse(queue QueueSlot, label LabelSlot) Use {
	if label != 0 {
		return s.LabelUses.Of(LabelUseKey{Label: label, Queue: queue})
	}
	q := s.Queues.Get(queue)
	return Use{Used: q.Used, Reserved: q.Reserved, Pending: q.Pending, AMUsed: q.AMUsed, ActiveUsed: q.ActiveUsed}
}

// TotalUse returns what a queue uses and wants of all partitions together.
func (s *Accounts) TotalUse(queue QueueSlot) Use {
	sum := s.QueueUse(queue, 0)
	s.Labels.Each(func(label LabelSlot, _ *Label) bool {
		u := s.QueueUse(queue, label)
		sum.Used, sum.Reserved, sum.Pending = sum.Used.Add(u.Used), sum.Reserved.Add(u.Reserved), sum.Pending.Add(u.Pending)
		sum.AMUsed, sum.ActiveUsed = sum.AMUsed.Add(u.AMUsed), sum.ActiveUsed.Add(u.ActiveUsed)
		return true
	})
	return sum
}

// UserUse returns what a user of a leaf uses of a partition.
func (s *Accounts) UserUse(user UserSlot, label LabelSlot) Use {
	if label != 0 {
		return s.LabelUses.Of(LabelUseKey{Label: label, User: user})
	}
	u := s.Users.Get(user)
	return Use{Used: u.Used, AMUsed: u.AMUsed}
}

// chainUse calls f to change the use of a queue and of all its ancestors.
func (s *Accounts) chainUse(label LabelSlot, queue QueueSlot, f func(u *Use)) {
	for slot := queue; slot != 0; slot = s.Queues.Get(slot).Parent {
		s.LabelUses.Change(LabelUseKey{Label: label, Queue: slot}, f)
	}
}

// chargeLabel is charge for a label's partition.
func (s *Accounts) chargeLabel(a *App, label LabelSlot, used, reserved yarn.Resource, containers int64) {
	s.LabelUses.Change(LabelUseKey{Label: label, User: a.UserSlot}, func(u *Use) { u.Used = u.Used.Add(used) })
	var ofActive, ofLeaf yarn.Resource
	if s.Users.Get(a.UserSlot).IsActive() {
		ofActive = used
	}
	for slot := a.Queue; slot != 0; slot = s.Queues.Get(slot).Parent {
		s.Queues.Mut(slot).Containers += containers
		s.LabelUses.Change(LabelUseKey{Label: label, Queue: slot}, func(u *Use) {
			u.Used = u.Used.Add(used)
			u.Reserved = u.Reserved.Add(reserved)
			if slot == a.Queue {
				u.ActiveUsed = u.ActiveUsed.Add(ofActive)
				ofLeaf = u.Used
			}
		})
	}
	s.foldResource(ofLeaf)
}

// activateUses adds a user's use of labels' partitions to ActiveUsed of the leaf, or subtracts it
// if active is false.
func (s *Accounts) activateUses(user UserSlot, active bool) {
	if s.LabelUses.Len() == 0 {
		return
	}
	leaf := s.Users.Get(user).Queue
	s.Labels.Each(func(label LabelSlot, _ *Label) bool {
		used := s.UserUse(user, label).Used
		if !active {
			used = yarn.Resource{}.Sub(used)
		}
		if !used.IsZero() {
			s.LabelUses.Change(LabelUseKey{Label: label, Queue: leaf}, func(u *Use) { u.ActiveUsed = u.ActiveUsed.Add(used) })
		}
		return true
	})
}

// shiftLabels adds (sign 1) or subtracts (sign −1) what an application uses and wants of labels'
// partitions to or from its leaf and user. It returns the sum over all labels.
func (s *Running) shiftLabels(a *App, sign int64) (all Use, containers int64) {
	if s.Labels.Len() == 0 {
		return all, 0
	}
	add := func(node NodeSlot, size, reserved yarn.Resource) {
		if label := s.Nodes.Get(node).Label; label != 0 {
			s.charge(a, label, size.Times(sign), reserved.Times(sign), sign)
			all.Used, all.Reserved = all.Used.Add(size), all.Reserved.Add(reserved)
			containers++
		}
	}
	for _, c := range s.Containers.Of(a) {
		if c.State.Live() {
			add(c.Node, c.Size, yarn.Resource{})
		}
	}
	for _, r := range s.Reservations.Of(a) {
		add(r.Node, r.Size, r.Size)
	}
	for _, k := range s.Asks.Of(a) {
		if k.Label != 0 {
			pending := k.Size.Times(k.Count)
			s.chainUse(k.Label, a.Queue, func(u *Use) { u.Pending = u.Pending.Add(pending.Times(sign)) })
			all.Pending = all.Pending.Add(pending)
		}
	}
	return all, containers
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(27, "label-uses",
	func(s *State) *table.Keyed[LabelUseSlot, LabelUse, *LabelUse] { return &s.LabelUses.Keyed }, (*LabelUse).Code),
	Agrees: agrees((*check.Tables).CheckLabels)})
