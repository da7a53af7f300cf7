package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// LargeContainers has a record for each label; its slot is the label plus 1.
type LargeContainers struct {
	table.Table[LargeSlot, LargeContainer]
}

// LargeContainer says when a large container was last allocated or reserved on a node of a label.
type LargeContainer struct {
	AtMillis int64 // to the minute
}

// AllocatedAt returns when a large container was last allocated or reserved on a node of a label,
// in Unix milliseconds, or 0 if none was. A container is large if it takes at least half of the mean
// node of the label, or a resource other than memory and vcores, such as GPUs. Only the resources
// that the calculator compares count.
func (t *LargeContainers) AllocatedAt(label LabelSlot) int64 {
	if slot := LargeSlot(label) + 1; t.Has(slot) {
		return t.Get(slot).AtMillis
	}
	return 0
}

// Code encodes the record, or decodes into it.
func (l *LargeContainer) Code(c *codec.Coder) { c.I64(&l.AtMillis) }
