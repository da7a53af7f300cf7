package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// QueueKeeps has what is kept for leaves, by the slot of the Queue.
type QueueKeeps struct{ table.Table[QueueSlot, Keeps] }

// Kept says how much other leaves may not borrow of a leaf's guarantee of the nodes of a label.
type Kept struct {
	Label         LabelSlot
	Size          yarn.Resource // with what the leaf uses of it; may be zero
	ReachedMillis int64         // when the leaf last used as much
	IdleLeft      uint64        // how much may still stand idle for it, in milliseconds of 2^-32 of the nodes
}

func (k Kept) label() LabelSlot { return k.Label }

// Keeps has what is kept for a leaf, at most one for each label, in the order of labels. A changed
// list is a new list.
type Keeps []Kept

// Code encodes the record, or decodes into it.
func (k *Keeps) Code(c *codec.Coder) {
	codec.List(c, (*[]Kept)(k), func(c *codec.Coder, v *Kept) {
		codec.Slot(c, &v.Label)
		c.Resource(&v.Size)
		c.I64(&v.ReachedMillis)
		c.U64(&v.IdleLeft)
	})
}

// For returns what is kept for the queue at a slot. ok is false if nothing is.
func (t *QueueKeeps) For(queue QueueSlot, label LabelSlot) (kept Kept, ok bool) {
	return labelledOf(&t.Table, queue, label)
}

// Set replaces what is kept for a queue for the label, or ends it if nothing is kept and nothing may
// stand idle.
func (t *QueueKeeps) Set(queue QueueSlot, kept Kept) {
	setLabelled(&t.Table, queue, kept, !kept.Size.IsZero() || kept.IdleLeft > 0)
}

// Drop ends what is kept for a queue.
func (t *QueueKeeps) Drop(queue QueueSlot) { dropLabelled(&t.Table, queue) }
