package record

import (
	"rmd/fsm/state/index"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// LabelUses has what queues and users use and want of labels' partitions.
type LabelUses struct {
	table.Keyed[LabelUseSlot, LabelUse, *LabelUse]
	Touched uint64 // see Changed
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
	LabelUseKey
	Use
}

// Code encodes the record, or decodes into it.
func (u *LabelUse) Code(c *codec.Coder) {
	codec.Slot(c, &u.Label)
	codec.Slot(c, &u.Queue)
	codec.Slot(c, &u.User)
	c.Resource(&u.Used)
	c.Resource(&u.Reserved)
	c.Resource(&u.Pending)
	c.Resource(&u.AMUsed)
	c.Resource(&u.ActiveUsed)
}

// LabelUseKey names a label with a queue or with a user. The other field is 0.
type LabelUseKey struct {
	Label LabelSlot
	Queue QueueSlot
	User  UserSlot
}

// Hash returns the hash of the key.
func (k LabelUseKey) Hash() uint64 {
	return table.Mix(uint64(k.Label)<<(2*index.SlotBits) | uint64(k.Queue)<<index.SlotBits | uint64(k.User))
}

// Same reports whether the keys are equal.
func (u *LabelUse) Same(other *LabelUse) bool { return u.LabelUseKey == other.LabelUseKey }

// At returns the slot of the LabelUse with a key, or 0 if there is none.
func (t *LabelUses) At(k LabelUseKey) LabelUseSlot {
	return t.Lookup(k.Hash(), func(r *LabelUse) bool { return r.LabelUseKey == k })
}

// Of returns the use with a key, which is zero if there is no record.
func (t *LabelUses) Of(k LabelUseKey) Use {
	if slot := t.At(k); slot != 0 {
		return t.Get(slot).Use
	}
	return Use{}
}

// Changed returns the partitions whose use the last event changed: bit label%64.
func (t *LabelUses) Changed() uint64 { return t.Touched }

// QueueSlot returns the slot of a queue's LabelUse, or 0 if there is none. If guess is the right
// slot, no search is needed. Callers pass the previous result as guess.
func (t *LabelUses) QueueSlot(queue QueueSlot, label LabelSlot, guess LabelUseSlot) LabelUseSlot {
	return t.near(guess, LabelUseKey{Label: label, Queue: queue})
}

// UserSlot is like QueueSlot for a user of a leaf.
func (t *LabelUses) UserSlot(user UserSlot, label LabelSlot, guess LabelUseSlot) LabelUseSlot {
	return t.near(guess, LabelUseKey{Label: label, User: user})
}

func (t *LabelUses) near(guess LabelUseSlot, k LabelUseKey) LabelUseSlot {
	if guess != 0 && t.Get(guess).LabelUseKey == k {
		return guess
	}
	return t.At(k)
}

// Change calls f to change the LabelUse with the given key. It creates the record if there is
// none, and removes it if it becomes zero.
func (t *LabelUses) Change(k LabelUseKey, f func(u *Use)) {
	slot := t.At(k)
	if slot == 0 {
		var r *LabelUse
		slot, r = table.Alloc(&t.Keyed.Table)
		r.LabelUseKey = k
		table.InsertKeyed(&t.Keyed, slot)
	}
	t.Touched |= 1 << (k.Label % 64)
	r := t.Mut(slot)
	f(&r.Use)
	if r.Used.IsZero() && r.Use == (Use{}) {
		table.ReleaseKeyed(&t.Keyed, slot)
	}
}

// ChargeAM adds am to the AMUsed of the leaf and the user in the partition of the AM's label.
func (t *LabelUses) ChargeAM(a *App, am yarn.Resource) {
	add := func(u *Use) { u.AMUsed = u.AMUsed.Add(am) }
	t.Change(LabelUseKey{Label: a.AMLabel, Queue: a.Queue}, add)
	t.Change(LabelUseKey{Label: a.AMLabel, User: a.UserSlot}, add)
}
