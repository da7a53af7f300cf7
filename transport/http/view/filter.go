package view

import (
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/summary"
)

// AppFilter selects applications. Empty fields select all.
type AppFilter struct {
	States     map[string]bool // by the names in YARN's reports
	Queues     []bool          // by slot; see View.Subtree
	User, Name string
	Type, Tag  string

	user state.NameSlot
}

// Subtree marks a queue and the queues below it, by slot.
func (v *View) Subtree(slot state.QueueSlot) []bool {
	out := make([]bool, v.State.Queues.Cap())
	var walk func(slot state.QueueSlot)
	walk = func(slot state.QueueSlot) {
		out[slot] = true
		for _, k := range v.State.Queues.Get(slot).Children {
			walk(k)
		}
	}
	walk(slot)
	return out
}

func (f *AppFilter) pass(v *View, a *summary.App) bool {
	switch {
	case f.States != nil && !f.States[a.Shown.String()],
		f.User != "" && a.User != f.user,
		f.Queues != nil && !f.Queues[a.Queue]:
		return false
	case f.Type == "" && f.Name == "" && f.Tag == "":
		return true
	}
	d := v.State.Apps.Get(a.Slot).Details()
	return (f.Type == "" || strings.EqualFold(f.Type, d.Type)) && (f.Name == "" || f.Name == d.Name) &&
		(f.Tag == "" || slices.Contains(d.Tags, f.Tag))
}

// Each calls yield with the slots of the applications that pass, ordered by sequence number, until
// yield returns false. The order never changes. Therefore successive pages have no gaps and no
// repetitions, whatever happens between them.
func (f *AppFilter) Each(v *View, after uint32, newest bool, yield func(slot state.AppSlot) bool) {
	f.user = v.State.Names.Find(f.User)
	v.Summary().From(after, newest, func(a *summary.App) bool {
		return !f.pass(v, a) || yield(a.Slot)
	})
}

// Pick returns the slots of the first applications that pass, one more than the limit. A limit of 0
// means all.
func (f *AppFilter) Pick(v *View, after uint32, newest bool, limit int) []state.AppSlot {
	var out []state.AppSlot
	f.Each(v, after, newest, func(slot state.AppSlot) bool {
		out = append(out, slot)
		return limit == 0 || len(out) <= limit
	})
	return out
}
