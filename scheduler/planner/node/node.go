package node

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
	"rmd/scheduler/planner/lifecycle"
	"rmd/yarn"
)

// Nodes changes what nodes are used for: it drains, decommissions and takes them back, by order of an
// operator, by the lists of hosts or because a deadline has passed.
type Nodes struct {
	sched *scheduler.Scheduler
	st    *state.State
	ends  lifecycle.Ends
}

// New returns the Nodes of the state of a scheduler.
func New(sched *scheduler.Scheduler, ends lifecycle.Ends) Nodes {
	return Nodes{sched: sched, st: sched.State, ends: ends}
}

func (ns *Nodes) containersOn(node state.NodeSlot) []state.ContainerSlot {
	var slots []state.ContainerSlot
	for c := range ns.st.Containers.On(ns.st.Nodes.Get(node)) {
		slots = append(slots, c)
	}
	return slots
}

// stop ends the use of a node: its reservation and its containers end at once. As in YARN,
// applications are activated before the attempts end whose AMs ran on the node, since the use by
// other queues has fallen.
func (ns *Nodes) stop(slot state.NodeSlot, to yarn.NodeState, report string) {
	ns.sched.CancelOnNode(slot, yarn.CancelNodeNotRunning)
	text := "Container released on a *" + lower(to) + "* node"
	var ams []event.ContainerRef
	for _, c := range ns.containersOn(slot) {
		if k := ns.st.Containers.Get(c); k.OnNode {
			ref := ns.st.Apps.Ref(k)
			if ns.ends.CompleteAlone(ref, yarn.ExitAborted, text) {
				ams = append(ams, ref)
			}
		}
	}
	ns.sched.Emit(&event.NodeStateChanged{Node: slot, State: to, Report: report})
	ns.sched.ActivateAll()
	ns.mastersEnded(ams, text) // as in YARN, new attempts start on the remaining nodes
}

// mastersEnded ends the attempts whose AMs were lost with their nodes.
func (ns *Nodes) mastersEnded(ams []event.ContainerRef, text string) {
	slices.SortFunc(ams, func(x, y event.ContainerRef) int { return cmp.Compare(x.App, y.App) })
	for _, ref := range ams {
		ns.ends.MasterEnded(ref, yarn.ExitAborted, text, "")
	}
}

func lower(s yarn.NodeState) string {
	b := []byte(s.String())
	for i := range b {
		b[i] |= 0x20
	}
	return string(b)
}

// finishDrain decommissions a draining node that no application needs any more, unless the node says
// that it keeps something of one. Until then it keeps the node's total equal to its allocated resource,
// so that nothing else fits. The node has no reservation since the drain began.
func (ns *Nodes) finishDrain(slot state.NodeSlot, keeps bool) {
	n := ns.st.Nodes.Get(slot)
	if n.State != yarn.NodeDecommissioning {
		return
	}
	switch {
	case n.Drained() && !keeps:
		ns.sched.Emit(&event.NodeStateChanged{Node: slot, State: yarn.NodeDecommissioned, Report: n.Report})
	case n.Total != n.Allocated:
		ns.sched.Emit(&event.NodeResourceChanged{Node: slot, Total: n.Allocated})
	default:
		return
	}
	ns.sched.ActivateAll() // a limit may leave more room in the kind that counts now
}

// Expire ends the use of a node that has sent no heartbeat for its expiry interval.
func (ns *Nodes) Expire(in *input.ExpireNode) input.Reply {
	slot := ns.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, noSuchNode(in.ID))
	}
	switch ns.st.Nodes.Get(slot).State {
	case yarn.NodeRunning, yarn.NodeUnhealthy:
		ns.stop(slot, yarn.NodeLost, "no heartbeat for its expiry interval")
	case yarn.NodeDecommissioning:
		ns.decommission(slot, "no heartbeat for its expiry interval")
	}
	return in.NewReply()
}

func noSuchNode(id yarn.NodeID) *input.Refusal {
	return input.Refusef(input.NoSuchNode, "list them with \"rmd node list\"", "there is no node %s", id)
}

// Drain drains a node, decommissions it at once, or takes it back.
func (ns *Nodes) Drain(in *input.DrainNode) input.Reply {
	slot := ns.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, noSuchNode(in.ID))
	}
	n := ns.st.Nodes.Get(slot)
	switch {
	case in.Back && (n.State == yarn.NodeDecommissioning || n.State == yarn.NodeDecommissioned):
		if !ns.st.Hosts.Allowed(n.ID.Host) {
			return input.Refuse(in, input.Refusef(input.HostRefused, "change the lists of hosts first",
				"the lists of hosts refuse %s", n.ID.Host))
		}
		// Its total was lowered while it drained, so it must register again.
		ns.recommission(slot)
	case in.Now && n.State != yarn.NodeDecommissioned && !in.Back:
		ns.stop(slot, yarn.NodeDecommissioned, "")
	case in.Back || !ns.beginDrain(slot, in.DeadlineMillis):
		return input.Refuse(in, input.Refusef(input.AlreadyDone, "", "node %s is %s", in.ID, n.State))
	}
	return in.NewReply()
}

// DrainAll drains all nodes of the input, or none.
func (ns *Nodes) DrainAll(in *input.DrainNodes) input.Reply {
	if len(in.IDs) == 0 {
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "name one at least", "there are no nodes to drain"))
	}
	slots := make([]state.NodeSlot, len(in.IDs))
	for i, id := range in.IDs {
		if slots[i] = ns.st.Nodes.Find(id); slots[i] == 0 {
			return input.Refuse(in, noSuchNode(id))
		}
	}
	for _, slot := range slots {
		ns.beginDrain(slot, in.DeadlineMillis)
	}
	return in.NewReply()
}

// beginDrain starts the drain of a node, or changes the deadline of its drain. It reports whether
// anything changes. A node that is not usable is decommissioned at once.
func (ns *Nodes) beginDrain(slot state.NodeSlot, deadline int64) bool {
	n := ns.st.Nodes.Get(slot)
	switch {
	case n.State == yarn.NodeDecommissioned:
		return false
	case !n.State.Usable():
		ns.stop(slot, yarn.NodeDecommissioned, "")
	case n.State == yarn.NodeRunning:
		ns.startDrain(slot, deadline, "")
	case n.DeadlineMillis == deadline:
		return false
	default:
		ns.sched.Emit(&event.NodeStateChanged{Node: slot, State: n.State, DeadlineMillis: deadline, Report: n.Report})
	}
	return true
}

// startDrain starts a graceful decommission. A deadline of 0 means none.
func (ns *Nodes) startDrain(slot state.NodeSlot, deadline int64, report string) {
	ns.sched.CancelOnNode(slot, yarn.CancelNodeNotRunning)
	ns.sched.Emit(&event.NodeStateChanged{Node: slot, State: yarn.NodeDecommissioning, DeadlineMillis: deadline,
		Report: report})
}

// recommission lets a node come back. The node must register again, with the containers that it
// still runs.
func (ns *Nodes) recommission(slot state.NodeSlot) {
	to := yarn.NodeRunning
	if ns.st.Nodes.Get(slot).Count == 0 {
		to = yarn.NodeRebooted
	}
	ns.sched.Emit(&event.NodeStateChanged{Node: slot, State: to, Report: state.TakenBack})
}

// declared returns what a node has of the kinds that the cluster knows. As in YARN, a node may have
// others, which nobody can ask for.
func (ns *Nodes) declared(total yarn.Resource) yarn.Resource {
	return total.First(len(ns.st.Versions.Kinds()))
}

// SetResource changes the total resource of a node.
func (ns *Nodes) SetResource(in *input.SetNodeResource) input.Reply {
	slot := ns.st.Nodes.Find(in.ID)
	if slot == 0 {
		return input.Refuse(in, noSuchNode(in.ID))
	}
	if in.Total.Negative() {
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "give amounts of zero or more",
			"a node cannot have %s", in.Total))
	}
	ns.changeTotal(slot, ns.declared(in.Total), true)
	ns.sched.ActivateAll()
	return in.NewReply()
}

// DrainsAt returns when the first drain reaches its deadline.
func (ns *Nodes) DrainsAt() int64 { return due.Earliest(&ns.st.Nodes, drainEnd) }

// drainEnd returns the deadline of a node's drain.
func drainEnd(n *state.Node) int64 {
	if n.State != yarn.NodeDecommissioning || n.DeadlineMillis <= 0 {
		return due.Never
	}
	return n.DeadlineMillis
}

// EndDrains decommissions the nodes whose drain has reached its deadline.
func (ns *Nodes) EndDrains() {
	for _, slot := range due.Passed(&ns.st.Nodes, drainEnd, ns.sched.Now()) {
		ns.decommission(slot, "its drain reached the deadline")
	}
}

// decommission ends a drain before the node's containers have ended.
func (ns *Nodes) decommission(slot state.NodeSlot, why string) {
	if report := ns.st.Nodes.Get(slot).Report; report == hostRefused {
		why = report // SetHosts finds by this report the nodes that may come back
	}
	ns.stop(slot, yarn.NodeDecommissioned, why)
}

// maxNodes is the most records of nodes; yarn.MaxAmount depends on it.
const maxNodes = 1 << 18

// Largest is the most resource that a node may have.
var Largest = largest()

func largest() (r yarn.Resource) {
	for i := range r {
		r[i] = yarn.MaxAmount
	}
	return r
}

// roomFor refuses a new node if there are too many records of nodes.
func (ns *Nodes) roomFor(slot state.NodeSlot) *input.Refusal {
	if slot != 0 || ns.st.Nodes.Len() < maxNodes {
		return nil
	}
	return input.Refusef(input.TooLarge, "bring it back under the name and port of a node that left",
		"the cluster has had %d nodes and takes no new one", maxNodes)
}

// ShrinkHuge lowers the resources of nodes to the most that a node may have. An earlier version
// accepted any number.
func (ns *Nodes) ShrinkHuge() {
	for _, slot := range due.Passed(&ns.st.Nodes, hugeSince, ns.sched.Now()) {
		n := ns.st.Nodes.Get(slot)
		total := n.Total
		if n.TotalSet {
			total = n.SetTotal
		}
		ns.changeTotal(slot, yarn.ComponentMin(total, Largest), n.TotalSet)
	}
	ns.sched.ActivateAll()
}

// HugeAt returns 0 if a node has more resources than a node may have.
func (ns *Nodes) HugeAt() int64 { return due.Earliest(&ns.st.Nodes, hugeSince) }

// hugeSince returns 0 for a node with more resources than a node may have.
func hugeSince(n *state.Node) int64 {
	if n.Total.Within(Largest) && n.SetTotal.Within(Largest) {
		return due.Never
	}
	return 0
}

// changeTotal changes the total resource of a node. First it cancels the node's reservation if that
// no longer fits.
func (ns *Nodes) changeTotal(slot state.NodeSlot, total yarn.Resource, set bool) {
	ns.sched.CancelLarger(slot, total)
	ns.sched.Emit(&event.NodeResourceChanged{Node: slot, Total: total, Set: set})
	ns.sched.NodeFreed(slot)
}
