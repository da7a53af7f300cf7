package planner

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

func (p *Planner) registerNode(in *input.RegisterNode) input.Reply {
	reply := &input.RegisterNodeReply{}
	if in.ID.Host == "" || in.ID.Port == 0 || in.Total.Negative() || in.Total[yarn.Memory] == 0 {
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "give a host, a port and resources above zero",
			"node %s registers with %s", in.ID, in.Total))
	}
	slot, drains := p.st.Nodes.Find(in.ID), int64(-1)
	first := slot == 0
	report := ""
	if fault := p.refusedHost(slot, in.ID); fault != nil {
		return input.Refuse(in, fault)
	}
	if fault := p.elsewhere(slot, in); fault != nil {
		return input.Refuse(in, fault)
	}
	if fault := p.roomForNode(slot); fault != nil {
		return input.Refuse(in, fault)
	}
	if slot != 0 {
		if p.st.Nodes.Get(slot).State == yarn.NodeDecommissioned {
			return input.Refuse(in, input.Faultf(input.NotAllowed, "take it back with \"rmd node drain --undo\"", "node %s is decommissioned", in.ID))
		}
		p.heardAgain(slot)
		p.reconcile(slot, in)
		if n := p.st.Nodes.Get(slot); n.State == yarn.NodeDecommissioning {
			drains, report = n.DeadlineMillis, n.Report
		}
	} else {
		slot = p.st.Nodes.Next()
	}
	p.sched.Emit(&event.NodeRegistered{Node: slot, ID: in.ID, HTTPPort: in.HTTPPort, Rack: in.Rack, Total: in.Total, Version: in.Version, NodeManager: in.NodeManager,
		Address: in.Address, HeartbeatSession: in.HeartbeatSession})
	if drains >= 0 { // a restart of the node does not end its drain
		p.sched.Emit(&event.NodeStateChanged{Node: slot, State: yarn.NodeDecommissioning, DeadlineMillis: drains, Report: report})
	}
	p.sched.CancelUnservable(slot)
	if first {
		p.recover(slot, in)
	}
	reply.Kill = p.statuses(slot, in.Containers, false)
	for _, id := range in.Running {
		if app := p.st.Apps.ByID(id); app == 0 || p.st.Apps.Get(app).State.Ended() {
			reply.CleanUp = append(reply.CleanUp, id)
		}
	}
	if n := p.st.Nodes.Get(slot); n.TotalSet {
		reply.Total = n.SetTotal
	}
	p.health(slot, in.Unhealthy, in.Report)
	reply.Number = slot
	p.sched.ActivateAll()
	return reply
}

// reconcile ends the containers that a node no longer has when it registers again.
func (p *Planner) reconcile(slot state.NodeSlot, in *input.RegisterNode) {
	has := make(map[yarn.ContainerID]bool, len(in.Containers)) // looked up by key only
	for _, c := range in.Containers {
		has[c.Container] = true
	}
	for _, r := range p.containersOn(slot) {
		c := p.st.Containers.Get(r)
		if !has[p.st.Apps.ContainerID(c)] && (c.Launched || c.State == yarn.ContainerReleasing) {
			p.ends.Complete(p.st.Apps.Ref(c), yarn.ExitAborted, "Container lost when its node came back without it.")
		}
	}
}

func (p *Planner) containersOn(node state.NodeSlot) []state.ContainerSlot {
	var slots []state.ContainerSlot
	for c := range p.st.Containers.On(p.st.Nodes.Get(node)) {
		slots = append(slots, c)
	}
	return slots
}

// stopNode ends the use of a node: its reservation and its containers end at once. As in YARN,
// applications are activated before the attempts end whose AMs ran on the node, since the use by
// other queues has fallen.
func (p *Planner) stopNode(slot state.NodeSlot, to yarn.NodeState, report string) {
	p.sched.CancelOnNode(slot, yarn.CancelNodeNotRunning)
	text := "Container released on a *" + lower(to) + "* node"
	var masters []event.ContainerRef
	for _, c := range p.containersOn(slot) {
		if k := p.st.Containers.Get(c); k.OnNode {
			ref := p.st.Apps.Ref(k)
			if p.ends.CompleteAlone(ref, yarn.ExitAborted, text) {
				masters = append(masters, ref)
			}
		}
	}
	p.sched.Emit(&event.NodeStateChanged{Node: slot, State: to, Report: report})
	p.sched.ActivateAll()
	slices.SortFunc(masters, func(x, y event.ContainerRef) int { return cmp.Compare(x.App, y.App) })
	for _, ref := range masters { // as in YARN, new attempts start on the remaining nodes
		p.ends.MasterEnded(ref, yarn.ExitAborted, text, "")
	}
}

func lower(s yarn.NodeState) string {
	b := []byte(s.String())
	for i := range b {
		b[i] |= 0x20
	}
	return string(b)
}

// finishDrain decommissions a draining node that no application needs any more. Until then it keeps
// the node's total equal to its allocated resource, so that nothing else fits. The node has no
// reservation since the drain began.
func (p *Planner) finishDrain(slot state.NodeSlot) {
	n := p.st.Nodes.Get(slot)
	if n.State != yarn.NodeDecommissioning {
		return
	}
	switch {
	case n.Drained():
		p.sched.Emit(&event.NodeStateChanged{Node: slot, State: yarn.NodeDecommissioned, Report: n.Report})
	case n.Total != n.Allocated:
		p.sched.Emit(&event.NodeResourceChanged{Node: slot, Total: n.Allocated})
	}
}

func (p *Planner) expireNode(in *input.ExpireNode) input.Reply {
	slot := p.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, p.noSuchNode(in.ID))
	}
	switch p.st.Nodes.Get(slot).State {
	case yarn.NodeRunning, yarn.NodeUnhealthy:
		p.stopNode(slot, yarn.NodeLost, "no heartbeat for its expiry interval")
	case yarn.NodeDecommissioning:
		p.decommission(slot, "no heartbeat for its expiry interval")
	}
	return in.NewReply()
}

func (p *Planner) noSuchNode(id yarn.NodeID) *input.Fault {
	return input.Faultf(input.NoSuchNode, "list them with \"rmd node list\"", "there is no node %s", id)
}

func (p *Planner) unregisterNode(in *input.UnregisterNode) input.Reply {
	slot := p.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, p.noSuchNode(in.ID))
	}
	if in.HeartbeatSession != 0 && in.HeartbeatSession != p.st.Nodes.Get(slot).HeartbeatSession {
		return input.Refuse(in, heardElsewhere(in.ID))
	}
	if p.st.Nodes.Get(slot).State.Usable() || p.st.Nodes.Get(slot).State == yarn.NodeUnhealthy {
		p.stopNode(slot, yarn.NodeShutdown, "it said that it stops")
	}
	return in.NewReply()
}

func (p *Planner) drainNode(in *input.DrainNode) input.Reply {
	slot := p.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, p.noSuchNode(in.ID))
	}
	n := p.st.Nodes.Get(slot)
	switch {
	case in.Back && (n.State == yarn.NodeDecommissioning || n.State == yarn.NodeDecommissioned):
		if !p.st.Hosts.Allowed(n.ID.Host) {
			return input.Refuse(in, input.Faultf(input.HostRefused, "change the lists of hosts first", "the lists of hosts refuse %s", n.ID.Host))
		}
		// Its total was lowered while it drained, so it must register again.
		p.recommission(slot)
	case in.Now && n.State != yarn.NodeDecommissioned && !in.Back:
		p.stopNode(slot, yarn.NodeDecommissioned, "")
	case in.Back || !p.beginDrain(slot, in.DeadlineMillis):
		return input.Refuse(in, input.Faultf(input.AlreadyDone, "", "node %s is %s", in.ID, n.State))
	}
	return in.NewReply()
}

// drainNodes drains all nodes of the input, or none.
func (p *Planner) drainNodes(in *input.DrainNodes) input.Reply {
	if len(in.IDs) == 0 {
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "name one at least", "there are no nodes to drain"))
	}
	slots := make([]state.NodeSlot, len(in.IDs))
	for i, id := range in.IDs {
		if slots[i] = p.st.Nodes.Find(id); slots[i] == 0 {
			return input.Refuse(in, p.noSuchNode(id))
		}
	}
	for _, slot := range slots {
		p.beginDrain(slot, in.DeadlineMillis)
	}
	return in.NewReply()
}

// beginDrain starts the drain of a node, or changes the deadline of its drain. It reports whether
// anything changes. A node that is not usable is decommissioned at once.
func (p *Planner) beginDrain(slot state.NodeSlot, deadline int64) bool {
	n := p.st.Nodes.Get(slot)
	switch {
	case n.State == yarn.NodeDecommissioned:
		return false
	case !n.State.Usable():
		p.stopNode(slot, yarn.NodeDecommissioned, "")
	case n.State == yarn.NodeRunning:
		p.drain(slot, deadline, "")
	case n.DeadlineMillis == deadline:
		return false
	default:
		p.sched.Emit(&event.NodeStateChanged{Node: slot, State: n.State, DeadlineMillis: deadline, Report: n.Report})
	}
	return true
}

// drain starts a graceful decommission. A deadline of 0 means none.
func (p *Planner) drain(slot state.NodeSlot, deadline int64, report string) {
	p.sched.CancelOnNode(slot, yarn.CancelNodeNotRunning)
	p.sched.Emit(&event.NodeStateChanged{Node: slot, State: yarn.NodeDecommissioning, DeadlineMillis: deadline, Report: report})
}

// recommission lets a node come back. The node must register again, with the containers that it
// still runs.
func (p *Planner) recommission(slot state.NodeSlot) {
	to := yarn.NodeRunning
	if p.st.Nodes.Get(slot).Count == 0 {
		to = yarn.NodeRebooted
	}
	p.sched.Emit(&event.NodeStateChanged{Node: slot, State: to, Report: state.TakenBack})
}

func (p *Planner) setNodeResource(in *input.SetNodeResource) input.Reply {
	slot := p.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, p.noSuchNode(in.ID))
	}
	if in.Total.Negative() {
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "give amounts of zero or more", "a node cannot have %s", in.Total))
	}
	p.changeTotal(slot, in.Total, true)
	p.sched.ActivateAll()
	return in.NewReply()
}

// drainEnd returns the deadline of a node's drain.
func drainEnd(n *state.Node) int64 {
	if n.State != yarn.NodeDecommissioning || n.DeadlineMillis <= 0 {
		return never
	}
	return n.DeadlineMillis
}

// drainsDue decommissions the nodes whose drain has reached its deadline.
func (p *Planner) drainsDue() {
	for _, slot := range passed(&p.st.Nodes, drainEnd, p.now) {
		p.decommission(slot, "its drain reached the deadline")
	}
}

// decommission ends a drain before the node's containers have ended.
func (p *Planner) decommission(slot state.NodeSlot, why string) {
	if report := p.st.Nodes.Get(slot).Report; report == hostRefused {
		why = report // setHosts finds by this report the nodes that may come back
	}
	p.stopNode(slot, yarn.NodeDecommissioned, why)
}
