package record

import (
	"slices"

	"rmd/fsm/state/table"
)

// labelled is a value of a queue for the nodes of a label. The table of such values has a list for each
// queue, at most one value for each label, in the order of labels. A changed list is a new list.
type labelled interface{ label() LabelSlot }

// labelledOf returns the value of a queue for a label. ok is false if there is none.
func labelledOf[L ~[]V, V labelled](t *table.Table[QueueSlot, L], queue QueueSlot, label LabelSlot) (value V, ok bool) {
	if !t.Has(queue) {
		return value, false
	}
	list := *t.Get(queue)
	if i := slices.IndexFunc(list, func(v V) bool { return v.label() == label }); i >= 0 {
		return list[i], true
	}
	return value, false
}

// dropLabelled removes the values of a queue.
func dropLabelled[L ~[]V, V labelled](t *table.Table[QueueSlot, L], queue QueueSlot) {
	if t.Has(queue) {
		table.Release(t, queue)
	}
}

// setLabelled replaces the value of a queue for the value's label or, if it is not wanted, removes it.
func setLabelled[L ~[]V, V labelled](t *table.Table[QueueSlot, L], queue QueueSlot, value V, wanted bool) {
	var list L
	if t.Has(queue) {
		list = slices.DeleteFunc(slices.Clone(*t.Get(queue)), func(v V) bool { return v.label() == value.label() })
	}
	if wanted {
		at, _ := slices.BinarySearchFunc(list, value.label(), func(v V, l LabelSlot) int { return int(v.label()) - int(l) })
		list = slices.Insert(list, at, value)
	}
	switch {
	case t.Has(queue) && len(list) == 0:
		table.Release(t, queue)
	case t.Has(queue):
		*t.Mut(queue) = list
	case len(list) > 0:
		*table.Place(t, queue) = list
	}
}
