package view

import (
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/summary"
)

// AppFilter says which applications a list is of; empty fields pass all.
type AppFilter struct {
	States     map[string]bool // by the name that YARN's reports show
	Queues     []bool          // by slot; see View.Subtree
	User, Name string
	Type, Tag  string

	user state.NameID
}

// Subtree marks a queue and those below it, by slot.
func (v *View) Subtree(slot uint32) []bool {
	out := make([]bool, v.State.Queues.Cap())
	var walk func(slot uint32)
	walk = func(slot uint32) {
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
	return (f.Type == "" || strings.EqualFold(f.Type, d.Type)) && (f.Name == "" || f.Name == d.Name) && (f.Tag == "" || slices.Contains(d.Tags, f.Tag))
}

// Each calls yield with the slots of the applications that pass, by sequence
// number, which is the order of submission and never changes: pages taken one
// after the other are free of gaps and repetitions whatever happens between.
func (f *AppFilter) Each(v *View, after uint32, newest bool, yield func(slot uint32) bool) {
	f.user = v.State.NameID(f.User)
	v.Summary().From(after, newest, func(a *summary.App) bool {
		return !f.pass(v, a) || yield(a.Slot)
	})
}

// Pick returns the first of them, one more than the limit; all without one.
func (f *AppFilter) Pick(v *View, after uint32, newest bool, limit int) []uint32 {
	var out []uint32
	f.Each(v, after, newest, func(slot uint32) bool {
		out = append(out, slot)
		return limit == 0 || len(out) <= limit
	})
	return out
}
