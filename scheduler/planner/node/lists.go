package node

import (
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// hostRefused is the report of a node that leaves or has left because of the lists of hosts. It
// comes back when they allow it again.
const hostRefused = "refused by the lists of hosts"

// refusedHost returns a fault if the lists of hosts do not let a node register. A draining node may
// register, since its containers may run until the deadline.
func (ns *Nodes) refusedHost(slot state.NodeSlot, id yarn.NodeID) *input.Refusal {
	if ns.st.Hosts.Allowed(id.Host) || (slot != 0 && ns.st.Nodes.Get(slot).State == yarn.NodeDecommissioning) {
		return nil
	}
	return input.Refusef(input.HostRefused, "change the lists of hosts",
		"Disallowed NodeManager from  %s, Sending SHUTDOWN signal to the NodeManager.", id.Host)
}

// SetHosts replaces the lists of hosts, and makes nodes leave or come back accordingly.
func (ns *Nodes) SetHosts(in *input.SetHosts) input.Reply {
	timeouts, fault := drainTimes(in)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	ns.ListHosts(in.Include, in.Exclude)
	reply, lists := &input.SetHostsReply{}, &ns.st.Hosts
	var leaving, returning []state.NodeSlot
	ns.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		switch allowed := lists.Allowed(n.ID.Host); {
		case !allowed && n.Heard():
			leaving = append(leaving, slot)
		case allowed && n.Report == hostRefused &&
			(n.State == yarn.NodeDecommissioning || n.State == yarn.NodeDecommissioned):
			returning = append(returning, slot)
		}
		return true
	})
	for _, slot := range leaving {
		if ns.refuse(slot, in.Graceful, timeouts(ns.st.Nodes.Get(slot).ID.Host)) {
			reply.Leaving = append(reply.Leaving, ns.st.Nodes.Get(slot).ID)
		}
	}
	for _, slot := range returning {
		ns.recommission(slot)
		reply.Returning = append(reply.Returning, ns.st.Nodes.Get(slot).ID)
	}
	if len(leaving)+len(returning) > 0 {
		ns.sched.ActivateAll()
	}
	return reply
}

// ListHosts replaces the lists of hosts, if they change.
func (ns *Nodes) ListHosts(include, exclude []string) {
	include, exclude = hostList(include), hostList(exclude)
	if !slices.Equal(include, ns.st.Hosts.Include) || !slices.Equal(exclude, ns.st.Hosts.Exclude) {
		ns.sched.Emit(&event.NodeListsSet{Include: include, Exclude: exclude})
	}
}

// drainTimes returns a function for the longest time that the nodes of a host may drain, in
// milliseconds; 0 means no limit.
func drainTimes(in *input.SetHosts) (of func(host string) int64, fault *input.Refusal) {
	times := make(map[string]int64, len(in.Timeouts)) // looked up by key only
	for _, t := range append(in.Timeouts, input.HostTimeout{Millis: in.TimeoutMillis}) {
		if t.Millis < 0 {
			return nil, input.Refusef(input.InvalidRequest, "use 0 for no limit", "a timeout of %d ms is not valid", t.Millis)
		}
		times[hostName(t.Host)] = t.Millis
	}
	return func(host string) int64 {
		if t, ok := times[hostName(host)]; ok {
			return t
		}
		return times[""]
	}, nil
}

// refuse makes a node leave that the lists refuse. It reports whether the node was not leaving
// before. Without graceful, a node that no list names is shut down instead of decommissioned, so
// that it may be forgotten.
func (ns *Nodes) refuse(slot state.NodeSlot, graceful bool, timeout int64) bool {
	n := ns.st.Nodes.Get(slot)
	switch {
	case !graceful && ns.untracked(n.ID.Host):
		ns.stop(slot, yarn.NodeShutdown, hostRefused)
	case !graceful, n.State == yarn.NodeUnhealthy:
		ns.stop(slot, yarn.NodeDecommissioned, hostRefused)
	case n.State == yarn.NodeRunning:
		ns.startDrain(slot, after(ns.sched.Now(), timeout), hostRefused)
	default:
		ns.redrain(slot, n, timeout)
		return false
	}
	return true
}

// redrain changes the deadline of a drain to the timeout of the lists, counted from the start of
// the drain: the lists may be set repeatedly.
func (ns *Nodes) redrain(slot state.NodeSlot, n *state.Node, timeout int64) {
	if deadline := after(n.DrainSinceMillis, timeout); deadline != n.DeadlineMillis {
		ns.sched.Emit(&event.NodeStateChanged{Node: slot, State: n.State, DeadlineMillis: deadline, Report: n.Report})
	}
}

// after returns millis + more, or 0 if more is 0; both zeros mean no limit.
func after(millis, more int64) int64 {
	if more == 0 {
		return 0
	}
	return millis + more
}

// hostName is the form in which names of hosts are compared.
func hostName(host string) string { return strings.ToLower(strings.TrimSpace(host)) }

// hostList returns a list as it is stored: in lower case, sorted, and each host once.
func hostList(hosts []string) []string {
	var out []string
	for _, h := range hosts {
		if h = hostName(h); h != "" {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// untracked reports whether the lists leave a host out, neither admitting nor refusing it.
func (ns *Nodes) untracked(host string) bool {
	if len(ns.st.Hosts.Include) == 0 {
		return ns.sched.Config.UntrackWithoutInclude && ns.st.Hosts.Allowed(host)
	}
	return !ns.st.Hosts.Allowed(host) && !ns.st.Hosts.Excluded(host)
}

// removesUntracked reports whether an inactive node may be forgotten without an operator's request.
func (ns *Nodes) removesUntracked(n *state.Node) bool {
	states := ns.sched.Config.UntrackedStates
	return ns.untracked(n.ID.Host) && (len(states) == 0 || slices.Contains(states, n.State.String()))
}

// Forget removes the record of an inactive node.
func (ns *Nodes) Forget(in *input.ForgetNode) input.Reply {
	slot := ns.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, noSuchNode(in.ID))
	}
	n := ns.st.Nodes.Get(slot)
	switch {
	case in.Untracked && !ns.removesUntracked(n):
		return in.NewReply()
	case n.Heard():
		return input.Refuse(in, input.Refusef(input.NotAllowed,
			"drain it with \"rmd node drain\" and wait until it is DECOMMISSIONED", "node %s is %s", in.ID, n.State))
	case !ns.st.Forgettable(slot):
		return input.Refuse(in, input.Refusef(input.NotAllowed, "try again in a minute",
			"ApplicationMasters have yet to be told of containers that ended on node %s", in.ID))
	}
	ns.drop(slot)
	return in.NewReply()
}

// drop removes the record of a node that may be forgotten.
func (ns *Nodes) drop(slot state.NodeSlot) {
	n := ns.st.Nodes.Get(slot)
	id := n.ID
	if n.Label != 0 && ns.sched.Config.LabelSettings.Distributed() {
		// The node reported this label, and reports it again if it comes back. A label that
		// administrators set for a host remains, because hosts need not be registered.
		ns.sched.Emit(&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: id}}})
	}
	ns.sched.Emit(&event.NodeForgotten{Node: slot, ID: id})
}
