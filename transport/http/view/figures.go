package view

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Figures divides the resources of a set of nodes. See api.Figures for what each one means.
type Figures struct{ Total, Used, Free, HeldFree, Usable, Reserved, Pending yarn.Resource }

// Figures returns those of the nodes with a label, or without one.
func (v *View) Figures(label state.LabelSlot) Figures {
	f := Figures{Total: v.State.PartitionTotal(label)}
	if root := v.State.Queues.Root(); root != 0 {
		use := v.State.QueueUse(root, label) // a queue's use also has what is reserved for it
		f.Used, f.Reserved, f.Pending = use.Used.Sub(use.Reserved), use.Reserved, use.Pending
	}
	f.Free = yarn.ComponentMax(f.Total.Sub(f.Used), yarn.Resource{})
	room := &v.Rooms()[label]
	f.HeldFree = yarn.ComponentMin(room.Held, f.Free)
	f.Usable = yarn.ComponentMin(room.Open.Sub(v.Blocked(label)), f.Free.Sub(f.HeldFree))
	return f
}

// AllFigures returns those of all nodes.
func (v *View) AllFigures() (sum Figures) {
	for _, p := range v.Partitions() {
		f := v.Figures(p.Label)
		for _, part := range []struct {
			to   *yarn.Resource
			from yarn.Resource
		}{{&sum.Total, f.Total}, {&sum.Used, f.Used}, {&sum.Free, f.Free}, {&sum.HeldFree, f.HeldFree},
			{&sum.Usable, f.Usable}, {&sum.Reserved, f.Reserved}, {&sum.Pending, f.Pending}} {
			*part.to = part.to.Add(part.from)
		}
	}
	return sum
}

// document returns the document of figures.
func (v *View) document(f Figures) api.Figures {
	return api.Figures{Total: v.Size(f.Total), Used: v.Size(f.Used), Free: v.Size(f.Free), HeldFree: v.Size(f.HeldFree),
		Usable:   v.Size(f.Usable),
		Reserved: v.Size(f.Reserved), Pending: v.Size(f.Pending)}
}
