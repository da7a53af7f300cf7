package node

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Register takes a node into use, and ends what it no longer has.
func (rp *Reports) Register(in *input.RegisterNode) input.Reply {
	reply := &input.RegisterNodeReply{}
	if in.ID.Host == "" || in.ID.Port == 0 || in.Total.Negative() || in.Total[yarn.Memory] == 0 {
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "give a host, a port and resources above zero",
			"node %s registers with %s", in.ID, in.Total))
	}
	total := rp.nodes.declared(in.Total)
	slot, drains := rp.st.Nodes.Find(in.ID), int64(-1)
	first := slot == 0
	report := ""
	var ams []event.ContainerRef
	if fault := rp.nodes.refusedHost(slot, in.ID); fault != nil {
		return input.Refuse(in, fault)
	}
	if fault := rp.elsewhere(slot, in); fault != nil {
		return input.Refuse(in, fault)
	}
	if fault := rp.nodes.roomFor(slot); fault != nil {
		return input.Refuse(in, fault)
	}
	if slot != 0 {
		if rp.st.Nodes.Get(slot).State == yarn.NodeDecommissioned {
			return input.Refuse(in, input.Refusef(input.NotAllowed, "take it back with \"rmd node drain --undo\"",
				"node %s is decommissioned", in.ID))
		}
		rp.heardAgain(slot)
		ams = rp.reconcile(slot, in)
		if n := rp.st.Nodes.Get(slot); n.State == yarn.NodeDecommissioning {
			drains, report = n.DeadlineMillis, n.Report
		}
	} else {
		slot = rp.st.Nodes.Next()
	}
	rp.sched.Emit(&event.NodeRegistered{Node: slot, ID: in.ID, HTTPPort: in.HTTPPort, Rack: in.Rack, Total: total,
		Version: in.Version, NodeManager: in.NodeManager,
		Address: in.Address, HeartbeatSession: in.HeartbeatSession})
	if drains >= 0 { // a restart of the node does not end its drain
		rp.sched.Emit(&event.NodeStateChanged{Node: slot, State: yarn.NodeDecommissioning, DeadlineMillis: drains,
			Report: report})
	}
	rp.sched.CancelUnservable(slot)
	if first {
		rp.recover(slot, in)
	}
	reply.Kill = rp.statuses(slot, in.Containers, false)
	for _, id := range in.Running {
		if app := rp.st.Apps.ByID(id); app == 0 || rp.st.Apps.Get(app).State.Ended() {
			reply.CleanUp = append(reply.CleanUp, id)
		}
	}
	if n := rp.st.Nodes.Get(slot); n.TotalSet {
		reply.Total = n.SetTotal
	}
	rp.health(slot, in.Unhealthy, in.Report)
	rp.nodes.finishDrain(slot, len(in.Running) > 0)
	reply.Number = slot
	rp.sched.ActivateAll()
	rp.nodes.mastersEnded(ams, cameBackWithout) // as in YARN, new attempts start after the registration
	return reply
}

// cameBackWithout is what the AM is told of a container that its node no longer has.
const cameBackWithout = "Container lost when its node came back without it."

// reconcile ends the containers that a node no longer has when it registers again. It returns those
// of AMs, whose attempts have not ended yet.
func (rp *Reports) reconcile(slot state.NodeSlot, in *input.RegisterNode) (ams []event.ContainerRef) {
	has := make(map[yarn.ContainerID]bool, len(in.Containers)) // looked up by key only
	for _, c := range in.Containers {
		has[c.Container] = true
	}
	for _, r := range rp.nodes.containersOn(slot) {
		c := rp.st.Containers.Get(r)
		if !has[rp.st.Apps.ContainerID(c)] && (c.Launched || c.State == yarn.ContainerReleasing) {
			if ref := rp.st.Apps.Ref(c); rp.ends.CompleteAlone(ref, yarn.ExitAborted, cameBackWithout) {
				ams = append(ams, ref)
			}
		}
	}
	return ams
}

// Unregister ends the use of a node that says that it stops.
func (rp *Reports) Unregister(in *input.UnregisterNode) input.Reply {
	slot := rp.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, noSuchNode(in.ID))
	}
	if in.HeartbeatSession != 0 && in.HeartbeatSession != rp.st.Nodes.Get(slot).HeartbeatSession {
		return input.Refuse(in, heardElsewhere(in.ID))
	}
	if rp.st.Nodes.Get(slot).State.Usable() || rp.st.Nodes.Get(slot).State == yarn.NodeUnhealthy {
		rp.nodes.stop(slot, yarn.NodeShutdown, "it said that it stops")
	}
	return in.NewReply()
}
