package view

import (
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/yarn"
)

var NodeStates = []string{"RUNNING", "UNHEALTHY", "DECOMMISSIONING", "DECOMMISSIONED", "LOST", "REBOOTED", "SHUTDOWN"}

// NodesByState counts the nodes, with the listed hosts that never registered, by state.
func (v *View) NodesByState() (by [yarn.NodeShutdown + 1]int) {
	v.State.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool { by[n.State]++; return true })
	for _, n := range v.ListedUnknown() {
		by[n.State]++
	}
	return by
}

// Nodes returns the slots of the nodes that pass, sorted by host and port.
func (v *View) Nodes(pass func(n *state.Node) bool) []state.NodeSlot {
	var out []state.NodeSlot
	for _, slot := range v.Summary().Nodes() {
		if pass(v.State.Nodes.Get(slot)) {
			out = append(out, slot)
		}
	}
	return out
}

// ListedNodes returns the nodes that pass, sorted by host and port. The listed hosts that never
// registered come last.
func (v *View) ListedNodes(pass func(n *state.Node) bool) (list []*state.Node) {
	for _, slot := range v.Nodes(pass) {
		list = append(list, v.State.Nodes.Get(slot))
	}
	for _, n := range v.ListedUnknown() {
		if pass(n) {
			list = append(list, n)
		}
	}
	return list
}

// ListedUnknown returns the nodes of listed hosts that never registered.
func (v *View) ListedUnknown() []*state.Node {
	return v.State.ListedUnknown(v.Conf != nil && v.Conf.TrackUnregistered)
}

// ListedNode returns the node of ListedNodes with a name or host.
func (v *View) ListedNode(text string) (*state.Node, error) {
	slot, err := v.FindNode(text)
	if err == nil {
		return v.State.Nodes.Get(slot), nil
	}
	host := strings.ToLower(strings.TrimSuffix(text, NoPort))
	for _, n := range v.ListedUnknown() {
		if n.ID.Host == host {
			return n, nil
		}
	}
	return nil, err
}

// NoPort is YARN's port of a host that never registered.
const NoPort = ":-1"

// NodeName returns a node's id. A host that never registered has NoPort.
func NodeName(n *state.Node) string {
	if n.NeverRegistered() {
		return n.ID.Host + NoPort
	}
	return n.ID.String()
}

// totalOf returns what a node has. A drain lowers the total in the state to what is used there. Of a node
// that was taken out, what it has is therefore unknown until it registers, unless an operator set it.
func totalOf(n *state.Node) yarn.Resource {
	switch {
	case n.State != yarn.NodeDecommissioned && n.State != yarn.NodeRebooted:
		return n.Total
	case n.TotalSet:
		return n.SetTotal
	}
	return yarn.Resource{}
}

// Node returns the document of a node.
func (v *View) Node(n *state.Node) api.Node {
	total := totalOf(n)
	d := api.Node{
		ID: NodeName(n), Host: n.ID.Host, Port: n.ID.Port, HTTPAddress: HTTPAddress(n), Rack: n.Rack,
		Label: v.State.Labels.Name(n.Label), State: n.State.String(), SilentSinceMillis: n.SilentSinceMillis,
		Version: n.Version,
		Total:   v.Size(total), Used: v.Size(n.Allocated), Free: v.Size(total.Sub(n.Allocated)), Containers: n.Count,
		RegisteredMillis: n.Registered, DeadlineMillis: n.DeadlineMillis, Report: n.Report, Orders: n.PendingCommands,
	}
	if n.Reservation != 0 {
		r := v.State.Reservations.Get(n.Reservation)
		d.Reservation, d.Reserved = ReservationID(r.Number), v.Size(r.Size)
	}
	if n.NeverRegistered() {
		d.HTTPAddress, d.Report = "", "the lists of hosts exclude it; it never registered"
		if n.State == yarn.NodeLost {
			d.Report = "the lists of hosts include it; it never registered"
		}
	}
	if n.State == yarn.NodeLost {
		d.LastHeardMillis = n.HeardMillis(v.NowMillis)
	}
	d.Drain = v.drain(n)
	return d
}

// maxDrainApps is the largest number of applications in the document of a drain.
const maxDrainApps = 100

// drain returns the progress of a drain, or nil for a node that does not drain.
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

// forecastEnd returns when an application will end if it continues at its present rate, or 0 if
// that is unknown.
func forecastEnd(a *state.App, nowMillis int64) int64 {
	ran, progress := nowMillis-a.StartedMillis, int64(a.Progress)
	if a.StartedMillis == 0 || ran <= 0 || progress <= 0 {
		return 0
	}
	left := max(state.WholeProgress-progress, 0)
	return nowMillis + ran/progress*left + ran%progress*left/progress
}

// LostNodes returns how many nodes are lost, and when the last of them was heard, in milliseconds.
func (v *View) LostNodes() (lost int, heard int64) {
	v.State.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.State == yarn.NodeLost {
			lost, heard = lost+1, max(heard, n.HeardMillis(v.NowMillis))
		}
		return true
	})
	return lost, heard
}
