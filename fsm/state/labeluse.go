package state

import (
	"rmd/fsm/state/index"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// LabelUses has what queues and users use and want of labels' partitions.
type LabelUses struct {
	table.Keyed[LabelUseSlot, LabelUse, *LabelUse]
	changed uint64 // see Changed
}

// Queue and User have the sums of the default partition. LabelUses has those of labels' partitions,
// so that a cluster without labels stores none.

// Use has what a queue or a user uses and wants of one partition.
type Use struct {
	Used       yarn.Resource // live containers and reservations
	Reserved   yarn.Resource // the part of Used that is reserved; queues only
	Pending    yarn.Resource // asks that name the label; queues only
	AMUsed     yarn.Resource // AMs of active applications; leaves and users only
	ActiveUsed yarn.Resource // the part of Used by active users; leaves only
}

// LabelUse has the Use of a queue, or of a user of a leaf, in a label's partition. It exists while
// it is not zero.
type LabelUse struct {
	labelUseKey
	Use
}

func (u *LabelUse) code(c *codec.Coder) {
	codec.Slot(c, &u.Label)
	codec.Slot(c, &u.Queue)
	codec.Slot(c, &u.User)
	c.Resource(&u.Used)
	c.Resource(&u.Reserved)
	c.Resource(&u.Pending)
	c.Resource(&u.AMUsed)
	c.Resource(&u.ActiveUsed)
}

// labelUseKey names a label with a queue or with a user. The other field is 0.
type labelUseKey struct {
	Label LabelSlot
	Queue QueueSlot
	User  UserSlot
}

func (k labelUseKey) Hash() uint64 {
	return table.Mix(uint64(k.Label)<<(2*index.SlotBits) | uint64(k.Queue)<<index.SlotBits | uint64(k.User))
}

func (u *LabelUse) Same(other *LabelUse) bool { return u.labelUseKey == other.labelUseKey }

func (t *LabelUses) at(k labelUseKey) LabelUseSlot {
	return t.Lookup(k.Hash(), func(r *LabelUse) bool { return r.labelUseKey == k })
}

func (t *LabelUses) of(k labelUseKey) Use {
	if slot := t.at(k); slot != 0 {
		return t.Get(slot).Use
	}
	return Use{}
}

// Changed returns the partitions whose use the last event changed: bit label%64.
func (t *LabelUses) Changed() uint64 { return t.changed }

// QueueSlot returns the slot of a queue's LabelUse, or 0 if there is none. If guess is the right
// slot, no search is needed. Callers pass the previous result as guess.
func (t *LabelUses) QueueSlot(queue QueueSlot, label LabelSlot, guess LabelUseSlot) LabelUseSlot {
	return t.near(guess, labelUseKey{Label: label, Queue: queue})
}

// UserSlot is like QueueSlot for a user of a leaf.
func (t *LabelUses) UserSlot(user UserSlot, label LabelSlot, guess LabelUseSlot) LabelUseSlot {
	return t.near(guess, labelUseKey{Label: label, User: user})
}

func (t *LabelUses) near(guess LabelUseSlot, k labelUseKey) LabelUseSlot {
	if guess != 0 && t.Get(guess).labelUseKey == k {
		return guess
	}
	return t.at(k)
}

// QueueUse returns what a queue uses and wants of a partition.
func (s *Accounts) QueueUse(queue QueueSlot, label LabelSlot) Use {
	if label != 0 {
		return s.LabelUses.of(labelUseKey{Label: label, Queue: queue})
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
		return s.LabelUses.of(labelUseKey{Label: label, User: user})
	}
	u := s.Users.Get(user)
	return Use{Used: u.Used, AMUsed: u.AMUsed}
}

// change calls f to change the LabelUse with the given key. It creates the record if there is
// none, and removes it if it becomes zero.
func (t *LabelUses) change(k labelUseKey, f func(u *Use)) {
	slot := t.at(k)
	if slot == 0 {
		var r *LabelUse
		slot, r = t.Alloc()
		r.labelUseKey = k
		t.Insert(slot)
	}
	t.changed |= 1 << (k.Label % 64)
	r := t.Mut(slot)
	f(&r.Use)
	if r.Used.IsZero() && r.Use == (Use{}) {
		t.Release(slot)
	}
}

// chainUse calls f to change the use of a queue and of all its ancestors.
func (s *Accounts) chainUse(label LabelSlot, queue QueueSlot, f func(u *Use)) {
	for slot := queue; slot != 0; slot = s.Queues.Get(slot).Parent {
		s.LabelUses.change(labelUseKey{Label: label, Queue: slot}, f)
	}
}

// chargeLabel is charge for a label's partition.
func (s *Accounts) chargeLabel(a *App, label LabelSlot, used, reserved yarn.Resource, containers int64) {
	s.LabelUses.change(labelUseKey{Label: label, User: a.UserSlot}, func(u *Use) { u.Used = u.Used.Add(used) })
	var ofActive, ofLeaf yarn.Resource
	if s.Users.Get(a.UserSlot).IsActive() {
		ofActive = used
	}
	for slot := a.Queue; slot != 0; slot = s.Queues.Get(slot).Parent {
		s.Queues.Mut(slot).Containers += containers
		s.LabelUses.change(labelUseKey{Label: label, Queue: slot}, func(u *Use) {
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

// chargeAM adds am to the AMUsed of the leaf and the user in the partition of the AM's label.
func (t *LabelUses) chargeAM(a *App, am yarn.Resource) {
	add := func(u *Use) { u.AMUsed = u.AMUsed.Add(am) }
	t.change(labelUseKey{Label: a.AMLabel, Queue: a.Queue}, add)
	t.change(labelUseKey{Label: a.AMLabel, User: a.UserSlot}, add)
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
			s.LabelUses.change(labelUseKey{Label: label, Queue: leaf}, func(u *Use) { u.ActiveUsed = u.ActiveUsed.Add(used) })
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

var labelUsePart = derived{part: keyedRows(27, "label-uses", func(s *State) *table.Keyed[LabelUseSlot, LabelUse, *LabelUse] { return &s.LabelUses.Keyed }, (*LabelUse).code),
	agrees: (*State).checkLabels}
