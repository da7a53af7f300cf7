package planner

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// This file handles what a node reports in its heartbeats, and the commands for it.

// toldAtOnce is the most applications that one response tells a node to clean up. The others follow
// in later responses.
const toldAtOnce = 200

// find returns the slot of a container that a node reports; 0 if the cluster has no such container
// on that node.
func (p *Planner) find(node state.NodeSlot, id yarn.ContainerID) state.ContainerSlot {
	slot := p.st.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
	if slot == 0 || p.st.Containers.Get(slot).Node != node || p.st.Apps.ContainerID(p.st.Containers.Get(slot)) != id {
		return 0
	}
	return slot
}

// take records what a node reports about a container.
func (p *Planner) take(slot state.ContainerSlot, s *input.ContainerStatus) {
	c := p.st.Containers.Get(slot)
	switch {
	case s.State == yarn.ContainerCompleted:
		if c.State != yarn.ContainerCompleted {
			p.ends.Complete(p.st.Apps.Ref(c), s.ExitStatus, s.Diagnostics)
		}
	case c.State.Live() && !c.Launched:
		p.sched.Emit(&event.ContainerLaunched{Container: p.st.Apps.Ref(c)})
	}
}

// statuses records what a node reports about its containers. It returns the containers that the
// node must kill, because the cluster does not know them.
func (p *Planner) statuses(node state.NodeSlot, all []input.ContainerStatus, full bool) (kill []yarn.ContainerID) {
	if full {
		p.round++
	}
	for i := range all {
		s := &all[i]
		slot := p.find(node, s.Container)
		switch {
		case slot != 0:
			if full {
				p.met(slot)
			}
			p.take(slot, s)
		case s.State != yarn.ContainerCompleted:
			kill = append(kill, s.Container)
		}
	}
	if full {
		p.missing(node)
	}
	return kill
}

// met marks a container as part of the current full report.
func (p *Planner) met(slot state.ContainerSlot) {
	for int(slot) >= len(p.named) {
		p.named = append(p.named, 0)
	}
	p.named[slot] = p.round
}

// missing ends the containers that a node had and that its full report lacks. A container that the
// node has never reported may not have arrived yet, so it is kept. A container that is being killed
// ends with the exit status of that decision.
func (p *Planner) missing(node state.NodeSlot) {
	var lost []event.ContainerRef
	for slot, c := range p.st.Containers.On(p.st.Nodes.Get(node)) {
		if named := int(slot) < len(p.named) && p.named[slot] == p.round; (c.Launched || c.State == yarn.ContainerReleasing) && !named {
			lost = append(lost, p.st.Apps.Ref(c))
		}
	}
	for _, ref := range lost { // the end of an AM may already have ended some of them
		if slot := p.st.Container(ref); slot != 0 && p.st.Containers.Get(slot).OnNode {
			p.ends.Complete(ref, yarn.ExitAborted, "Container lost: its node does not report it any more.")
		}
	}
}

// ackCommands removes the commands that a node has acknowledged. Since reports may be repeated, it
// ignores commands that were removed before.
func (p *Planner) ackCommands(node state.NodeSlot, in *input.NodeHeartbeat) {
	var told []yarn.ApplicationID
	for _, id := range in.CleanupsAcked {
		if slot := p.st.NodeApplications.Find(id, node); slot != 0 && p.st.NodeApplications.Get(slot).Slot == 0 {
			told = append(told, id)
		}
	}
	if len(told) > 0 {
		slices.SortFunc(told, byID)
		p.sched.Emit(&event.CleanupsAcked{Node: node, Apps: slices.Compact(told)})
	}
	for _, id := range in.SignalsAcked {
		if slot := p.find(node, id); slot != 0 && p.st.Containers.Get(slot).Signal != 0 {
			p.sched.Emit(&event.ContainerSignalled{Container: p.st.Apps.Ref(p.st.Containers.Get(slot))})
		}
	}
}

// ackRemovals removes the completed containers that a node has been told to forget.
func (p *Planner) ackRemovals(node state.NodeSlot, through uint64) {
	if first, list := p.st.Removals(node); through >= first && through-first < uint64(len(list)) {
		p.sched.Emit(&event.RemovalsAcked{Node: node, Through: through})
	}
}

func byID(a, b yarn.ApplicationID) int {
	return cmp.Or(cmp.Compare(a.ClusterTimestamp, b.ClusterTimestamp), cmp.Compare(a.Seq, b.Seq))
}

// commands adds to a reply what the node must launch, kill, signal, resize and clean up, according
// to the state. Commands that the node has not acknowledged are sent again.
func (p *Planner) commands(slot state.NodeSlot, reply *input.NodeHeartbeatReply) {
	n := p.st.Nodes.Get(slot)
	if n.PendingCleanups > 0 {
		reply.CleanUp = p.cleanUps(slot)
	}
	if n.PendingCommands == 0 {
		return
	}
	for _, c := range p.st.Containers.On(n) {
		if c.Signal != 0 {
			reply.Signals = append(reply.Signals, input.Signal{Container: p.st.Apps.ContainerID(c), Command: c.Signal})
		}
		if r := p.st.Resizes.Of(c); r != nil && r.Unacked {
			reply.Resize = append(reply.Resize, input.SizeOrder{Container: p.st.Apps.ContainerID(c), Version: r.Version})
		}
		switch a := p.st.Apps.Get(c.App); {
		case c.State == yarn.ContainerReleasing:
			reply.Kill = append(reply.Kill, p.st.Apps.ContainerID(c))
		case c.AM && !c.Launched && !n.NodeManager:
			reply.Launch = append(reply.Launch, input.Launch{Container: p.st.Apps.ContainerID(c), Size: c.Size, User: p.st.Names.Text(a.User), Context: []byte(a.Details().Context)})
		}
	}
}

func (p *Planner) cleanUps(node state.NodeSlot) []yarn.ApplicationID {
	n := p.st.Nodes.Get(node)
	out := make([]yarn.ApplicationID, 0, min(n.PendingCleanups, toldAtOnce))
	for slot := n.NodeApplications; slot != 0 && len(out) < cap(out); slot = p.st.NodeApplications.Get(slot).NextOnNode() {
		if r := p.st.NodeApplications.Get(slot); r.Slot == 0 {
			out = append(out, r.App)
		}
	}
	return out
}

// heardEvents limits the events of one batch of heartbeats. The remaining nodes are served at their
// next heartbeats, or in an eager pass.
const heardEvents = 4000

// nodesHeard serves nodes whose heartbeats reported nothing new.
func (p *Planner) nodesHeard(in *input.NodesHeard) input.Reply {
	for _, slot := range in.Nodes {
		if len(p.sched.Events()) >= heardEvents {
			break
		}
		if p.st.Nodes.Has(slot) {
			p.heardAgain(slot)
			p.finishDrain(slot)
			p.sched.HeartbeatPass(slot)
		}
	}
	return in.NewReply()
}

// nodeHeartbeat records what a node reports, runs a scheduling pass over it, and returns the
// commands for it.
func (p *Planner) nodeHeartbeat(in *input.NodeHeartbeat) input.Reply {
	reply := &input.NodeHeartbeatReply{}
	slot := p.st.Nodes.Find(in.ID)
	if slot == 0 {
		reply.Resync = true
		return reply
	}
	switch p.st.Nodes.Get(slot).State {
	case yarn.NodeDecommissioned:
		reply.Shutdown = true
		return reply
	case yarn.NodeLost, yarn.NodeShutdown, yarn.NodeRebooted:
		reply.Resync = true
		return reply
	}
	if stale(p.st.Nodes.Get(slot), in) {
		reply.Late = true
		return reply
	}
	p.heardAgain(slot)
	reply.Resync = p.st.Nodes.Get(slot).Report == state.TakenBack
	p.ackCommands(slot, in)
	p.ackSizes(slot, in.SizesAcked)
	p.ackRemovals(slot, in.RemovalsAcked)
	if reply.Kill = p.statuses(slot, in.Statuses, in.Full && !in.Unhealthy); len(reply.Kill) > 0 {
		p.sched.Confirm()
	}
	p.confirmSizes(slot, in.Sizes)
	recovered := p.health(slot, in.Unhealthy, in.Report)
	p.heard(slot, in)
	renewals(p).Kept(in.KeepAlive)
	if len(in.KeepAlive) == 0 {
		p.finishDrain(slot)
	}
	if recovered { // as in YARN, its next heartbeat is the first one that is served
		p.sched.NodeFreed(slot)
	} else {
		p.sched.HeartbeatPass(slot)
	}
	if p.st.Nodes.Get(slot).State == yarn.NodeDecommissioned {
		reply.Shutdown = true
	}
	p.commands(slot, reply)
	return reply
}

// health changes the state of a node that reports itself unhealthy or healthy again, and reports
// whether it is healthy again. An unhealthy node loses its containers, as a lost node does.
func (p *Planner) health(slot state.NodeSlot, unhealthy bool, report string) (recovered bool) {
	n := p.st.Nodes.Get(slot)
	switch {
	case n.State == yarn.NodeDecommissioning: // as in YARN, its health changes nothing
	case n.Report == state.TakenBack: // it must register first, and reports its health then
	case unhealthy && n.State != yarn.NodeUnhealthy:
		p.stopNode(slot, yarn.NodeUnhealthy, report)
	case !unhealthy && n.State == yarn.NodeUnhealthy:
		p.sched.Emit(&event.NodeStateChanged{Node: slot, State: yarn.NodeRunning})
		p.sched.ActivateAll()
		return true
	}
	return false
}
