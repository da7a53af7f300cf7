package record

import (
	"cmp"
	"iter"
	"slices"

	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// DynamicQueues is the table of dynamic queues, by the slot of the Queue.
type DynamicQueues struct {
	table.Table[QueueSlot, DynamicQueue]
	Newest uint64 // the highest DynamicQueue.Number
	Hash   uint64 // see Set
}

// DynamicQueue has the additional fields of a queue that a submission created and that the
// configuration does not list. Its slot is the slot of its Queue.
type DynamicQueue struct {
	Number        uint64 // ascending in the order of creation
	CreatedMillis int64
	IdleMillis    int64 // since when it has no applications and no children; 0: in use
	Active        bool  // see yarn.DynamicQueue
	Users         int32 // of the leaf; not in snapshots: follows from Users
}

// InOrder returns the dynamic queues by slot, in the order of their creation. Parents come
// before their children.
func (t *DynamicQueues) InOrder() iter.Seq2[QueueSlot, *DynamicQueue] {
	slots := make([]QueueSlot, 0, t.Len())
	t.Each(func(slot QueueSlot, _ *DynamicQueue) bool { slots = append(slots, slot); return true })
	slices.SortFunc(slots, func(a, b QueueSlot) int {
		return cmp.Compare(t.Get(a).Number, t.Get(b).Number)
	})
	return func(yield func(QueueSlot, *DynamicQueue) bool) {
		for _, slot := range slots {
			if !yield(slot, t.Get(slot)) {
				return
			}
		}
	}
}

// Set returns a hash over the dynamic queues and which of them are active. Equal sets
// have equal hashes.
func (t *DynamicQueues) Set() uint64 { return t.Hash }

// SetIdle sets IdleMillis of a dynamic queue. It does nothing for other queues.
func (t *DynamicQueues) SetIdle(m *Meta, slot QueueSlot, millis int64) {
	if t.Has(slot) && t.Get(slot).IdleMillis != millis {
		t.Mut(slot).IdleMillis = millis
		m.Fold(uint64(slot)<<32 ^ uint64(millis))
	}
}

// IdleNow returns the log's time for IdleMillis. It is never 0, which means that the queue is in
// use.
func (m *Meta) IdleNow() int64 { return max(m.NowMillis, 1) }

// CountUsers adds by to the number of users of a dynamic leaf.
func (t *DynamicQueues) CountUsers(m *Meta, slot QueueSlot, by int32) {
	if !t.Has(slot) {
		return
	}
	d := t.Mut(slot)
	d.Users += by
	idle := int64(0)
	if d.Users == 0 {
		idle = m.IdleNow()
	}
	t.SetIdle(m, slot, idle)
}

// FindNewest finds the highest number again, after dynamic queues have left.
func (t *DynamicQueues) FindNewest() {
	t.Newest = 0
	t.Each(func(_ QueueSlot, d *DynamicQueue) bool { t.Newest = max(t.Newest, d.Number); return true })
}

// Code encodes the record, or decodes into it.
func (d *DynamicQueue) Code(c *codec.Coder) {
	c.U64(&d.Number)
	c.I64(&d.CreatedMillis)
	c.I64(&d.IdleMillis)
	c.Bool(&d.Active)
}

// CompareChildren orders dynamic queues after all others, by their creation.
func (t *DynamicQueues) CompareChildren(a, b QueueSlot) int {
	number := func(slot QueueSlot) int {
		if t.Has(slot) {
			return int(t.Get(slot).Number)
		}
		return 0
	}
	return number(a) - number(b)
}

// HashOf returns the part of a dynamic queue in the hash that Set returns.
func (t *DynamicQueues) HashOf(queues *Queues, slot QueueSlot) uint64 {
	return table.Mix(queues.HashOf(slot) + uint64(count(t.Get(slot).Active)))
}
