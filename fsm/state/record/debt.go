package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// QueueDebts has the debts to leaves, by the slot of the Queue.
type QueueDebts struct{ table.Table[QueueSlot, Debts] }

// Debt says since when a leaf waits for containers within its guarantee of the nodes of a label.
// The time is that of the queue, not that of an ask: it goes on while some containers start, until
// nothing within the guarantee waits.
type Debt struct {
	Label       LabelSlot
	SinceMillis int64
	Overdue     bool // preemption must take what the leaf needs
}

func (d Debt) label() LabelSlot { return d.Label }

// Debts has the debts to a leaf, at most one for each label, in the order of labels. A changed list
// is a new list.
type Debts []Debt

// Code encodes the record, or decodes into it.
func (d *Debts) Code(c *codec.Coder) {
	codec.List(c, (*[]Debt)(d), func(c *codec.Coder, v *Debt) {
		codec.Slot(c, &v.Label)
		c.I64(&v.SinceMillis)
		c.Bool(&v.Overdue)
	})
}

// To returns the debt to the queue at a slot. ok is false if there is none.
func (t *QueueDebts) To(queue QueueSlot, label LabelSlot) (debt Debt, ok bool) {
	return labelledOf(&t.Table, queue, label)
}

// Set replaces the debt to a queue for the debt's label, or removes it.
func (t *QueueDebts) Set(queue QueueSlot, debt Debt, owed bool) {
	setLabelled(&t.Table, queue, debt, owed)
}

// Drop removes the debts to a queue.
func (t *QueueDebts) Drop(queue QueueSlot) { dropLabelled(&t.Table, queue) }
