package record

import (
	"slices"

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
	if !t.Has(queue) {
		return debt, false
	}
	list := *t.Get(queue)
	if i := slices.IndexFunc(list, func(d Debt) bool { return d.Label == label }); i >= 0 {
		return list[i], true
	}
	return debt, false
}

// Set replaces the debt to a queue for the debt's label, or removes it.
func (t *QueueDebts) Set(queue QueueSlot, debt Debt, owed bool) {
	var list Debts
	if t.Has(queue) {
		list = slices.DeleteFunc(slices.Clone(*t.Get(queue)), func(d Debt) bool { return d.Label == debt.Label })
	}
	if owed {
		at, _ := slices.BinarySearchFunc(list, debt.Label, func(d Debt, l LabelSlot) int { return int(d.Label) - int(l) })
		list = slices.Insert(list, at, debt)
	}
	switch {
	case len(list) == 0:
		table.Release(&t.Table, queue)
	case t.Has(queue):
		*t.Mut(queue) = list
	default:
		*table.Place(&t.Table, queue) = list
	}
}
