package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// FormerQueues has the paths of removed queues, by the slot of the App that ended there.
type FormerQueues struct {
	table.Table[AppSlot, FormerQueue]
}

// FormerQueue is the path of the queue in which an application ended, if that queue was removed
// later. Idle dynamic queues are removed, for instance. Its slot is the slot of its App.
type FormerQueue struct{ Path string }

// Drop removes the path of an application that is forgotten.
func (t *FormerQueues) Drop(app AppSlot) {
	if t.Has(app) {
		table.Release(&t.Table, app)
	}
}

// Code encodes the record, or decodes into it.
func (f *FormerQueue) Code(c *codec.Coder) { c.String(&f.Path) }
