package view

import (
	"slices"

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

// Node shows one node.
func (v *View) Node(n *state.Node) api.Node {
	d := api.Node{
		ID: n.ID.String(), Host: n.ID.Host, Port: n.ID.Port, HTTPAddress: HTTPAddress(n), Rack: n.Rack, State: n.State.String(), Version: n.Version,
		Total: v.Size(n.Total), Used: v.Size(n.Allocated), Free: v.Size(n.Unallocated()), Containers: n.Count,
		RegisteredMillis: n.Registered, DeadlineMillis: n.DeadlineMillis, Report: n.Report, Orders: n.PendingCommands,
	}
	if n.Reservation != 0 {
		r := v.State.Reservations.Get(n.Reservation)
		d.Reservation, d.Reserved = ReservationID(r.Number), v.Size(r.Size)
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
	d := &api.NodeDrain{Status: string(status)}
	for at := n.NodeApplications; at != 0 && len(d.Apps) < maxDrainApps; {
		a := v.State.NodeApplications.Get(at)
		d.Apps = append(d.Apps, a.App.String())
		at = a.NextOnNode()
	}
	slices.Sort(d.Apps)
	return d
}
