package node

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/lifecycle"
	"rmd/scheduler/renewal"
	"rmd/yarn"
)

// Reports plans what NodeManagers say, and answers with the commands for them.
type Reports struct {
	sched *scheduler.Scheduler
	st    *state.State
	ends  lifecycle.Ends
	nodes Nodes
	named []uint32 // the last full report that had a container, by container slot
	round uint32   // the number of full reports so far
}

// NewReports returns the Reports of the state of a scheduler. They have seen no report yet.
func NewReports(sched *scheduler.Scheduler, ends lifecycle.Ends) Reports {
	return Reports{sched: sched, st: sched.State, ends: ends, nodes: New(sched, ends)}
}

// ToldAtOnce is the most applications that one response tells a node to clean up. The others follow
// in later responses.
const ToldAtOnce = 200

// find returns the slot of a container that a node reports; 0 if the cluster has no such container
// on that node.
func (rp *Reports) find(node state.NodeSlot, id yarn.ContainerID) state.ContainerSlot {
	slot := rp.st.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
	if slot == 0 || rp.st.Containers.Get(slot).Node != node || rp.st.Apps.ContainerID(rp.st.Containers.Get(slot)) != id {
		return 0
	}
	return slot
}

// take records what a node reports about a container.
func (rp *Reports) take(slot state.ContainerSlot, s *input.ContainerStatus) {
	c := rp.st.Containers.Get(slot)
	switch {
	case s.State == yarn.ContainerCompleted:
		if c.State != yarn.ContainerCompleted {
			rp.ends.Complete(rp.st.Apps.Ref(c), s.ExitStatus, s.Diagnostics)
		}
	case c.State.Live() && !c.Launched:
		rp.sched.Emit(&event.ContainerLaunched{Container: rp.st.Apps.Ref(c)})
	}
}

// statuses records what a node reports about its containers. It returns the containers that the
// node must kill, because the cluster does not know them.
func (rp *Reports) statuses(node state.NodeSlot, all []input.ContainerStatus, full bool) (kill []yarn.ContainerID) {
	if full {
		rp.round++
	}
	for i := range all {
		s := &all[i]
		slot := rp.find(node, s.Container)
		switch {
		case slot != 0:
			if full {
				rp.met(slot)
			}
			rp.take(slot, s)
		case s.State != yarn.ContainerCompleted:
			kill = append(kill, s.Container)
		}
	}
	if full {
		rp.missing(node)
	}
	return kill
}

// met marks a container as part of the current full report.
func (rp *Reports) met(slot state.ContainerSlot) {
	for int(slot) >= len(rp.named) {
		rp.named = append(rp.named, 0)
	}
	rp.named[slot] = rp.round
}

// missing ends the containers that a node had and that its full report lacks. A container that the
// node has never reported may not have arrived yet, so it is kept. A container that is being killed
// ends with the exit status of that decision.
func (rp *Reports) missing(node state.NodeSlot) {
	var lost []event.ContainerRef
	for slot, c := range rp.st.Containers.On(rp.st.Nodes.Get(node)) {
		if named := int(slot) < len(rp.named) &&
			rp.named[slot] == rp.round; (c.Launched || c.State == yarn.ContainerReleasing) && !named {
			lost = append(lost, rp.st.Apps.Ref(c))
		}
	}
	for _, ref := range lost { // the end of an AM may already have ended some of them
		if slot := rp.st.Container(ref); slot != 0 && rp.st.Containers.Get(slot).OnNode {
			rp.ends.Complete(ref, yarn.ExitAborted, "Container lost: its node does not report it any more.")
		}
	}
}

// ackCommands removes the commands that a node has acknowledged. Since reports may be repeated, it
// ignores commands that were removed before.
func (rp *Reports) ackCommands(node state.NodeSlot, in *input.NodeHeartbeat) {
	var told []yarn.ApplicationID
	for _, id := range in.CleanupsAcked {
		if slot := rp.st.NodeApplications.Find(id, node); slot != 0 && rp.st.NodeApplications.Get(slot).Slot == 0 {
			told = append(told, id)
		}
	}
	if len(told) > 0 {
		slices.SortFunc(told, byID)
		rp.sched.Emit(&event.CleanupsAcked{Node: node, Apps: slices.Compact(told)})
	}
	for _, id := range in.SignalsAcked {
		if slot := rp.find(node, id); slot != 0 && rp.st.Containers.Get(slot).Signal != 0 {
			rp.sched.Emit(&event.ContainerSignalled{Container: rp.st.Apps.Ref(rp.st.Containers.Get(slot))})
		}
	}
}

// ackRemovals removes the completed containers that a node has been told to forget.
func (rp *Reports) ackRemovals(node state.NodeSlot, through uint64) {
	if first, list := rp.st.Removals(node); through >= first && through-first < uint64(len(list)) {
		rp.sched.Emit(&event.RemovalsAcked{Node: node, Through: through})
	}
}

func byID(a, b yarn.ApplicationID) int {
	return cmp.Or(cmp.Compare(a.ClusterTimestamp, b.ClusterTimestamp), cmp.Compare(a.Seq, b.Seq))
}

// commands adds to a reply what the node must launch, kill, signal, resize and clean up, according
// to the state. Commands that the node has not acknowledged are sent again.
func (rp *Reports) commands(slot state.NodeSlot, reply *input.NodeHeartbeatReply) {
	n := rp.st.Nodes.Get(slot)
	if n.PendingCleanups > 0 {
		reply.CleanUp = rp.cleanUps(slot)
	}
	if n.PendingCommands == 0 {
		return
	}
	for _, c := range rp.st.Containers.On(n) {
		if c.Signal != 0 {
			reply.Signals = append(reply.Signals, input.Signal{Container: rp.st.Apps.ContainerID(c), Command: c.Signal})
		}
		if r := rp.st.Resizes.Of(c); r != nil && r.Unacked {
			reply.Resize = append(reply.Resize, input.SizeOrder{Container: rp.st.Apps.ContainerID(c), Version: r.Version})
		}
		switch a := rp.st.Apps.Get(c.App); {
		case c.State == yarn.ContainerReleasing:
			reply.Kill = append(reply.Kill, rp.st.Apps.ContainerID(c))
		case c.AM && !c.Launched && !n.NodeManager:
			reply.Launch = append(reply.Launch, input.Launch{Container: rp.st.Apps.ContainerID(c), Size: c.Size,
				User: rp.st.Names.Text(a.User), Context: []byte(a.Details().Context)})
		}
	}
}

func (rp *Reports) cleanUps(node state.NodeSlot) []yarn.ApplicationID {
	n := rp.st.Nodes.Get(node)
	out := make([]yarn.ApplicationID, 0, min(n.PendingCleanups, ToldAtOnce))
	for slot := n.NodeApplications; slot != 0 &&
		len(out) < cap(out); slot = rp.st.NodeApplications.Get(slot).NextOnNode() {
		if r := rp.st.NodeApplications.Get(slot); r.Slot == 0 {
			out = append(out, r.App)
		}
	}
	return out
}

// HeardEvents limits the events of one batch of heartbeats. The remaining nodes are served at their
// next heartbeats, or in an eager pass.
const HeardEvents = 4000

// Heard serves nodes whose heartbeats reported nothing new.
func (rp *Reports) Heard(in *input.NodesHeard) input.Reply {
	for _, slot := range in.Nodes {
		if len(rp.sched.Events()) >= HeardEvents {
			break
		}
		if rp.st.Nodes.Has(slot) {
			rp.heardAgain(slot)
			rp.nodes.finishDrain(slot, false)
			rp.sched.HeartbeatPass(slot)
		}
	}
	return in.NewReply()
}

// Heartbeat records what a node reports, runs a scheduling pass over it, and returns the
// commands for it.
func (rp *Reports) Heartbeat(in *input.NodeHeartbeat) input.Reply {
	reply := &input.NodeHeartbeatReply{}
	slot := rp.st.Nodes.Find(in.ID)
	if slot == 0 {
		reply.Resync = true
		return reply
	}
	switch rp.st.Nodes.Get(slot).State {
	case yarn.NodeDecommissioned:
		reply.Shutdown = true
		return reply
	case yarn.NodeLost, yarn.NodeShutdown, yarn.NodeRebooted:
		reply.Resync = true
		return reply
	}
	if Stale(rp.st.Nodes.Get(slot), in) {
		reply.Late = true
		return reply
	}
	rp.heardAgain(slot)
	reply.Resync = rp.st.Nodes.Get(slot).Report == state.TakenBack
	rp.ackCommands(slot, in)
	rp.ackSizes(slot, in.SizesAcked)
	rp.ackRemovals(slot, in.RemovalsAcked)
	if reply.Kill = rp.statuses(slot, in.Statuses, in.Full && !in.Unhealthy); len(reply.Kill) > 0 {
		rp.sched.Barrier()
	}
	rp.confirmSizes(slot, in.Sizes)
	recovered := rp.health(slot, in.Unhealthy, in.Report)
	rp.heard(slot, in)
	renewal.Plan{State: rp.st, NowMillis: rp.sched.Now(), Emit: rp.sched.Emit}.Kept(in.KeepAlive)
	rp.nodes.finishDrain(slot, len(in.KeepAlive) > 0)
	if recovered { // as in YARN, its next heartbeat is the first one that is served
		rp.sched.NodeFreed(slot)
	} else {
		rp.sched.HeartbeatPass(slot)
	}
	if rp.st.Nodes.Get(slot).State == yarn.NodeDecommissioned {
		reply.Shutdown = true
	}
	rp.commands(slot, reply)
	return reply
}

// health changes the state of a node that reports itself unhealthy or healthy again, and reports
// whether it is healthy again. An unhealthy node loses its containers, as a lost node does.
func (rp *Reports) health(slot state.NodeSlot, unhealthy bool, report string) (recovered bool) {
	n := rp.st.Nodes.Get(slot)
	switch {
	case n.State == yarn.NodeDecommissioning: // as in YARN, its health changes nothing
	case n.Report == state.TakenBack: // it must register first, and reports its health then
	case unhealthy && n.State != yarn.NodeUnhealthy:
		rp.nodes.stop(slot, yarn.NodeUnhealthy, report)
	case !unhealthy && n.State == yarn.NodeUnhealthy:
		rp.sched.Emit(&event.NodeStateChanged{Node: slot, State: yarn.NodeRunning})
		rp.sched.ActivateAll()
		return true
	}
	return false
}

// confirmSizes records the sizes on a node of containers that have grown.
func (rp *Reports) confirmSizes(node state.NodeSlot, said []input.ContainerSize) {
	for i := range said {
		slot := rp.find(node, said[i].Container)
		if slot == 0 || said[i].Size.Negative() {
			continue
		}
		c := rp.st.Containers.Get(slot)
		r := rp.st.Resizes.Of(c)
		if r == nil || !r.Unconfirmed || yarn.ComponentMax(r.Confirmed, said[i].Size) == r.Confirmed {
			continue
		}
		rp.sched.Emit(&event.ContainerSizeReported{Container: rp.st.Apps.Ref(c), Size: said[i].Size})
	}
}

// ackSizes removes the resize orders that a node has acknowledged.
func (rp *Reports) ackSizes(node state.NodeSlot, told []input.SizeOrder) {
	for _, o := range told {
		slot := rp.find(node, o.Container)
		if slot == 0 {
			continue
		}
		c := rp.st.Containers.Get(slot)
		if r := rp.st.Resizes.Of(c); r != nil && r.Unacked && r.Version == o.Version {
			rp.sched.Emit(&event.ResizeAcked{Container: rp.st.Apps.Ref(c), Version: o.Version})
		}
	}
}
