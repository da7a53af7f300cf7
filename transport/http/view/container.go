package view

import (
	"cmp"
	"net"
	"slices"
	"strconv"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
)

// ContainersOf returns the slots of an application's containers in the order of their allocation.
// It returns only those after the container with the given attempt and number.
func (v *View) ContainersOf(a *state.App, attempt uint32, number uint64) []state.ContainerSlot {
	var out []state.ContainerSlot
	for slot, k := range v.State.Containers.Of(a) {
		if k.Attempt > attempt || (k.Attempt == attempt && k.Number > number) {
			out = append(out, slot)
		}
	}
	slices.SortFunc(out, func(x, y state.ContainerSlot) int {
		a, b := v.State.Containers.Get(x), v.State.Containers.Get(y)
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// Container returns the document of a container.
func (v *View) Container(k *state.Container) api.Container {
	d := api.Container{
		ID: v.State.Apps.ContainerID(k).String(), App: v.State.Apps.Get(k.App).ID.String(), Attempt: k.Attempt,
		Node:  v.NodeID(k.Node),
		State: k.State.String(), Locality: k.Locality.String(), Priority: k.Key.Priority, AllocationID: k.Key.AllocationID,
		Size: v.Size(k.Size), AM: k.AM, Launched: k.Launched, AllocatedMillis: k.AllocatedMillis, ExitStatus: k.ExitStatus,
	}
	if v.State.Nodes.Has(k.Node) {
		n := v.State.Nodes.Get(k.Node)
		d.NodeHTTPAddress, d.Label = HTTPAddress(n), v.State.Labels.Name(n.Label)
		d.Lent = v.lent(k, n)
	}
	if k.Diagnostics != 0 && v.State.Diagnostics.Has(k.Diagnostics) {
		d.Diagnostics = v.State.Diagnostics.Get(k.Diagnostics).Text
	}
	return d
}

// lent reports whether a live container runs on a node with another label than its ask has.
func (v *View) lent(k *state.Container, n *state.Node) bool {
	if v.State.Labels.Len() == 0 || !k.State.Live() {
		return false
	}
	slot := v.State.Container(event.ContainerRef{App: v.State.Apps.Get(k.App).ID.Seq, Attempt: k.Attempt,
		Number: k.Number})
	return v.State.AskedLabels.Of(slot) != n.Label
}

func HTTPAddress(n *state.Node) string {
	return net.JoinHostPort(n.ID.Host, strconv.Itoa(int(n.HTTPPort)))
}
