package view

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// Rooms returns how whole the free resources of each label are, by the label's number.
func (v *View) Rooms() []summary.Room {
	var least yarn.Resource // 0 before the cluster has queues: then no container fits
	if v.Conf != nil {
		least = v.Conf.MinAlloc
	}
	return v.Summary().Rooms(v.Calculator(), least)
}

// Blocked returns the free room of a label that nobody may use, because what is reserved on other
// nodes counts as used. With backfill, root does not count what is reserved.
func (v *View) Blocked(label state.LabelSlot) yarn.Resource {
	if v.Conf != nil && v.Conf.Queues[0].Backfill != capacity.BackfillOff {
		return yarn.Resource{}
	}
	return v.Rooms()[label].Blocked
}

// LabelRooms returns the document of the rooms of all partitions. It begins with the nodes without
// a label.
func (v *View) LabelRooms() []api.LabelRoom {
	out := []api.LabelRoom{}
	for _, p := range v.Partitions() {
		out = append(out, api.LabelRoom{Label: p.Name(), Room: v.room(p)})
	}
	return out
}

func (v *View) room(p *Partition) api.Room {
	r := &v.Rooms()[p.Label]
	d := api.Room{ServingNodes: int(r.Serving), EmptyNodes: int(r.Empty), Largest: []api.LargestRoom{}}
	if blocked := v.Blocked(p.Label); !blocked.IsZero() {
		d.Blocked = v.Size(blocked)
	}
	for _, l := range r.Largest() {
		largest := api.LargestRoom{Node: v.NodeID(l.Slot), Free: v.Size(l.Free)}
		for _, k := range l.Kinds {
			largest.Kinds = append(largest.Kinds, v.Kinds[k])
		}
		d.Largest = append(d.Largest, largest)
	}
	return d
}
