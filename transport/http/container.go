package httpserver

import (
	"cmp"
	"net"
	"slices"
	"strconv"

	"rmd/fsm/state"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func appContainers(c *call, v *view, a *state.App) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	var after yarn.ContainerID
	if text := c.q.Get("after"); text != "" {
		if after, err = yarn.ParseContainerID(text); err != nil {
			return invalid("after: "+err.Error(), "give the next of the page before")
		}
	}
	slots := v.containersOf(a, after.Attempt, after.Number)
	slots, next := page(slots, limit, func(at uint32) string { return v.st.ContainerID(v.st.Containers.Get(at)).String() })
	items := func(yield func(api.Container) bool) {
		for _, at := range slots {
			if !yield(v.containerDoc(v.st.Containers.Get(at))) {
				return
			}
		}
	}
	return list(c, "containers", items, func() any { return nextPage{next} })
}

// containersOf lists an application's containers in the order they were
// granted, those after a certain one.
func (v *view) containersOf(a *state.App, attempt uint32, number uint64) []uint32 {
	var out []uint32
	for slot := a.Containers; slot != 0; {
		k := v.st.Containers.Get(slot)
		if k.Attempt > attempt || (k.Attempt == attempt && k.Number > number) {
			out = append(out, slot)
		}
		slot = k.NextOfApp()
	}
	slices.SortFunc(out, func(x, y uint32) int {
		a, b := v.st.Containers.Get(x), v.st.Containers.Get(y)
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// containerDoc shows one container.
func (v *view) containerDoc(k *state.Container) api.Container {
	d := api.Container{
		ID: v.st.ContainerID(k).String(), App: v.st.Apps.Get(k.App).ID.String(), Attempt: k.Attempt, Node: v.nodeID(k.Node),
		State: k.State.String(), Locality: k.Locality.String(), Priority: k.Key.Priority, AllocationID: k.Key.AllocationID,
		Size: v.size(k.Size), AM: k.AM, Launched: k.Launched, AllocatedMillis: k.AllocatedMillis, ExitStatus: k.ExitStatus,
	}
	if v.st.Nodes.Has(k.Node) {
		d.NodeHTTPAddress = httpAddress(v.st.Nodes.Get(k.Node))
	}
	if k.Note != 0 && v.st.Notes.Has(k.Note) {
		d.Diagnostics = v.st.Notes.Get(k.Note).Text
	}
	return d
}

func httpAddress(n *state.Node) string {
	return net.JoinHostPort(n.ID.Host, strconv.Itoa(int(n.HTTPPort)))
}
