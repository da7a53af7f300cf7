package planner

import (
	"slices"

	"pgregory.net/rapid"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// The actions of this file are about containers that change their size.

// updates draws the size changes that an AM asks for, mostly for its own containers with the right
// version.
func (m *machine) updates(t *rapid.T, slot state.AppSlot, in *input.Allocate) {
	if rapid.IntRange(0, 2).Draw(t, "updates") > 0 {
		return
	}
	for _, c := range liveOf(m.p, slot) {
		if rapid.IntRange(0, 2).Draw(t, "update") > 0 {
			continue
		}
		k := m.p.st.Containers.Get(c)
		u := input.Update{Container: m.p.st.Apps.ContainerID(k), Version: m.p.st.Resizes.Version(k),
			Type: rapid.SampledFrom([]input.UpdateType{0, 0, 0, 1, 1, 2, 3, 4}).Draw(t, "type"),
			Size: m.size(t, 8)}
		if rapid.IntRange(0, 5).Draw(t, "late") == 0 {
			u.Version++
		}
		in.Updates = append(in.Updates, u)
	}
}

// checkUpdates checks that each requested change is done, pending, or refused with an error.
func (m *machine) checkUpdates(in *input.Allocate, r *input.AllocateReply) {
	refused := map[uint32]bool{}
	for _, e := range r.UpdateErrors {
		refused[e.Update] = true
	}
	for i, u := range in.Updates {
		if refused[uint32(i)] || u.Type > input.DecreaseResource || slices.Contains(in.Releases, u.Container) {
			continue // what the call also releases keeps its size until its node has ended it
		}
		slot := containerOn(m.p, m.nodeOf(u.Container), u.Container)
		if slot == 0 {
			continue
		}
		if c := m.p.st.Containers.Get(slot); c.State.Live() && u.Type == input.DecreaseResource &&
			c.Size != yarn.ComponentMin(c.Size, u.Size) && u.Size[yarn.Memory] >= m.p.Config().MinAlloc[yarn.Memory] &&
			u.Size[yarn.VCores] >= m.p.Config().MinAlloc[yarn.VCores] && m.p.st.Resizes.Version(c) == u.Version {
			m.fail("%s was to shrink to %v and has %v", u.Container, u.Size, c.Size)
		}
	}
}

// sizes draws what a node reports about the sizes of containers, and which size orders it
// acknowledges.
func (m *machine) sizes(t *rapid.T, in *input.NodeHeartbeat) {
	for _, c := range containersOn(m.p, m.p.st.Nodes.Find(in.ID)) {
		k := m.p.st.Containers.Get(c)
		r := m.p.st.Resizes.Of(k)
		if r == nil {
			continue
		}
		id := m.p.st.Apps.ContainerID(k)
		switch rapid.IntRange(0, 5).Draw(t, "says") {
		case 0:
			in.Sizes = append(in.Sizes, input.ContainerSize{Container: id, Size: m.size(t, 8)})
		case 1, 2:
			in.Sizes = append(in.Sizes, input.ContainerSize{Container: id, Size: k.Size})
		case 3:
			in.SizesAcked = append(in.SizesAcked, input.SizeOrder{Container: id, Version: r.Version},
				input.SizeOrder{Container: id, Version: r.Version - 1})
		}
	}
}
