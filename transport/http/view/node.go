package view

import (
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/v1/api"
)

var NodeStates = []string{"RUNNING", "UNHEALTHY", "DECOMMISSIONING", "DECOMMISSIONED", "LOST", "REBOOTED", "SHUTDOWN"}

// Nodes lists the nodes that pass, by host and port.
func (v *View) Nodes(pass func(n *state.Node) bool) []uint32 {
	var out []uint32
	for _, slot := range v.Summary().Nodes() {
		if pass(v.State.Nodes.Get(slot)) {
			out = append(out, slot)
		}
	}
	return out
}

// ListedNodes lists the nodes that pass, by host and port. Behind them are the excluded hosts that
// never registered.
func (v *View) ListedNodes(pass func(n *state.Node) bool) (list []*state.Node) {
	for _, slot := range v.Nodes(pass) {
		list = append(list, v.State.Nodes.Get(slot))
	}
	for _, n := range v.State.ExcludedUnknown() {
		if pass(n) {
			list = append(list, n)
		}
	}
	return list
}

// ListedNode finds one of ListedNodes by its name or its host.
func (v *View) ListedNode(text string) (*state.Node, error) {
	slot, err := v.FindNode(text)
	if err == nil {
		return v.State.Nodes.Get(slot), nil
	}
	host := strings.ToLower(strings.TrimSuffix(text, NoPort))
	for _, n := range v.State.ExcludedUnknown() {
		if n.ID.Host == host {
			return n, nil
		}
	}
	return nil, err
}

// NoPort is YARN's port of a host that never registered.
const NoPort = ":-1"

// NodeName is a node's id.
func NodeName(n *state.Node) string {
	if n.NeverRegistered() {
		return n.ID.Host + NoPort
	}
	return n.ID.String()
}

// Node shows one node.
func (v *View) Node(n *state.Node) api.Node {
	d := api.Node{
		ID: NodeName(n), Host: n.ID.Host, Port: n.ID.Port, HTTPAddress: HTTPAddress(n), Rack: n.Rack, Label: v.State.LabelName(n.Label), State: n.State.String(), Version: n.Version,
		Total: v.Size(n.Total), Used: v.Size(n.Allocated), Free: v.Size(n.Unallocated()), Containers: n.Count,
		RegisteredMillis: n.Registered, DeadlineMillis: n.DeadlineMillis, Report: n.Report, Orders: n.PendingCommands,
	}
	if n.Reservation != 0 {
		r := v.State.Reservations.Get(n.Reservation)
		d.Reservation, d.Reserved = ReservationID(r.Number), v.Size(r.Size)
	}
	if n.NeverRegistered() {
		d.HTTPAddress, d.Report = "", "the lists of hosts exclude it; it never registered"
	}
	d.Drain = v.drain(n)
	return d
}

// maxDrainApps is how many applications are named that a drain waits for.
const maxDrainApps = 100

// drain shows how far a drain is; nil for a node that does not drain.
func (v *View) drain(n *state.Node) *api.NodeDrain {
	status := n.Draining(v.State.Meta.NowMillis)
	if status == "" {
		return nil
	}
	d := &api.NodeDrain{Status: string(status), Containers: n.Count}
	known := true
	for at := n.NodeApplications; at != 0; {
		a := v.State.NodeApplications.Get(at)
		if d.Applications++; len(d.Apps) < maxDrainApps {
			d.Apps = append(d.Apps, a.App.String())
		}
		if a.Slot != 0 {
			end := forecastEnd(v.State.Apps.Get(a.Slot), v.State.Meta.NowMillis)
			known = known && end != 0
			d.ExpectedMillis = max(d.ExpectedMillis, end)
		}
		at = a.NextOnNode()
	}
	if !known {
		d.ExpectedMillis = 0
	}
	slices.Sort(d.Apps)
	return d
}

// forecastEnd is when an application ends that goes on as it did so far; 0: not known.
func forecastEnd(a *state.App, nowMillis int64) int64 {
	ran, progress := nowMillis-a.StartedMillis, int64(a.Progress)
	if a.StartedMillis == 0 || ran <= 0 || progress <= 0 {
		return 0
	}
	left := max(state.WholeProgress-progress, 0)
	return nowMillis + ran/progress*left + ran%progress*left/progress
}
