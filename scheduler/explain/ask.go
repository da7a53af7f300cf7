package explain

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/internal/thousands"
	"rmd/scheduler"
	"rmd/yarn"
)

// without says which checks a judgment skips.
type without struct{ maximum, user, reservations, delay, blacklist, silence bool }

// judgment is the result of the planner's checks for one ask.
type judgment struct {
	reason scheduler.Reason // NoReason: a node would serve it in its next pass
	never  bool             // the ask can never be served as it is
	nodes  int              // nodes with this reason
}

// firstAsk returns an application's first outstanding ask, or 0.
func (v view) firstAsk(a *state.App) uint32 {
	ask := a.Asks
	for ask != 0 && v.st.Asks.Get(ask).Count == 0 {
		ask = v.st.Asks.Get(ask).Next
	}
	return ask
}

// explainAsk says why the scheduler does not serve the first outstanding ask, and what would happen
// without this obstacle.
func (v view) explainAsk(x *Explanation, slot uint32, a *state.App) {
	i := v.LeafOf(a)
	ask := v.firstAsk(a)
	k := v.st.Asks.Get(ask)
	v = v.on(k.Label, false)
	x.place(v, v.Active(i), slot)
	v.explainLimits(x, i, a, k)
	all := v.survey(slot, ask, without{})
	x.tellNodes(v, &all)
	if v.st.HoldsBack(k) && v.judgeLabel(i, k) == scheduler.NoReason {
		v.explainGang(x, slot, ask)
		return
	}
	j := v.judge(slot, ask, without{}, &all)
	x.Never = j.never
	size, of := v.cfg.Kinds.Format(k.Size), v.ofLabel(k.Label)
	switch {
	case j.reason == scheduler.LabelUnknown:
		x.because(j.reason, "it asks for nodes%s, which the cluster does not have any more; it waits until the label is added again", of)
	case j.reason == scheduler.LabelNotAccessible:
		x.because(j.reason, "it asks for nodes%s, which %s may not use any more", of, x.Queue)
	case j.reason == scheduler.OtherLabel:
		x.because(j.reason, "it asks for nodes %s; %s, but with other labels", v.withLabel(k.Label), run(j.nodes))
	case j.reason == scheduler.NoNodes && v.anyRuns():
		x.because(j.reason, "no node runs on the hosts and racks that it names, and it accepts no others")
	case j.reason == scheduler.NoNodes:
		x.because(j.reason, "none of the cluster's %s runs%s", nodes(v.st.Nodes.Len()), v.drains())
	case j.reason == scheduler.NodeTooSmall:
		x.because(j.reason, "it asks %s: %s, so it can never fit", size, v.largest(slot, ask))
	case j.reason == scheduler.QueueMaxCapacity || j.reason == scheduler.ParentMaxCapacity:
		q, _ := v.capping(i, k.Size)
		x.because(j.reason, "it asks %s; %s uses %s of its maximum of %s%s", size, v.Queue(q).Path, v.cfg.Kinds.Format(v.used(q)), v.cfg.Kinds.Format(v.tree.Capacities[q].EffMax), of)
	case j.reason == scheduler.UserLimit:
		x.because(j.reason, "user %s uses %s in %s; its limit is %s%s", v.st.NameOf(a.User), v.cfg.Kinds.Format(v.st.UserUse(a.UserSlot, v.label).Used), x.Queue, v.cfg.Kinds.Format(v.UserLimit(i, a.UserSlot)), of)
	case len(x.Reserved) > 0:
		x.because(scheduler.NodeTooSmallFree, "node %s is reserved for it (%s) until %s is free there", x.Reserved[0].Node, x.Reserved[0].ID, x.Reserved[0].Needs)
	case j.reason == scheduler.NoReason && x.Position > 1:
		x.because(scheduler.BehindFIFO, "%s room, but %s in %s", have(j.nodes), ahead(x.Position-1), x.Queue)
	case j.reason == scheduler.NoReason:
		x.because(scheduler.BehindFIFO, "%s room: the next pass serves the ask, unless another queue comes first", have(j.nodes))
	case j.reason == scheduler.LocalityDelay:
		x.because(j.reason, "it asks %s: %s room, but it waits for one of the %d hosts or racks that it prefers, for %d missed opportunities so far",
			size, have(j.nodes), k.Entries-1, k.Opportunities)
	case j.reason == scheduler.OwnPartitionFirst:
		x.because(j.reason, "it asks %s: %s room and a label that it does not ask for; it may use such nodes after %d missed offers, and has missed %d so far",
			size, have(j.nodes), v.OffersToMiss(), k.Missed)
	case j.reason == scheduler.NodeReservedByOther:
		x.because(j.reason, "it asks %s: %s reserved for another application, and no other node that it may use is large enough", size, are(j.nodes))
	case j.reason == scheduler.Blacklisted:
		x.because(j.reason, "it asks %s: %s on the application's blacklist, and no other node that it may use is large enough", size, are(j.nodes))
	case j.reason == scheduler.NodeSilent:
		n := v.st.Nodes.Get(all.example[j.reason])
		x.because(j.reason, "it asks %s: %s room, but no heartbeat has come from there lately; %s has been silent for %d s", size, have(j.nodes), n.ID, n.SilentMillis(v.st.Meta.NowMillis)/1000)
	case j.reason == scheduler.NodeTooSmallFree:
		x.because(j.reason, "it asks %s%s: %s", size, of, v.scarce(slot, ask))
	default:
		x.because(j.reason, "it asks %s: %s on %s", size, verdicts[j.reason], nodes(j.nodes))
	}
	v.explainIfs(x, slot, ask, &all)
}

// scarce says of which resource no node has enough free for an ask, and which node has the most of
// it. It ignores nodes that are reserved for others.
func (v view) scarce(app, ask uint32) string {
	free := func(n *state.Node) yarn.Resource { return n.Unallocated() }
	if text := v.lacking("no unreserved node has %s free; the most is %s on %s", ask, free, func(slot uint32, n *state.Node) bool { return v.open(app, ask, slot, n) }); text != "" {
		return text
	}
	return "no unreserved node has all of it free at once"
}

// largest says of which resource no node has enough in total, and which node has the most of it.
func (v view) largest(app, ask uint32) string {
	total := func(n *state.Node) yarn.Resource { return n.Total }
	if text := v.lacking("no node has %s; the most is %s on %s", ask, total, func(slot uint32, n *state.Node) bool { return n.Serving() && v.MayUse(ask, slot) }); text != "" {
		return text
	}
	return "no node that it may use has all of it"
}

// lacking finds the first resource of which an ask needs more than any node has. It formats how
// much that is, the most that a node has, and which node that is.
func (v view) lacking(format string, ask uint32, has func(*state.Node) yarn.Resource, counts func(slot uint32, n *state.Node) bool) string {
	size := v.st.Asks.Get(ask).Size
	for kind, name := range v.cfg.Kinds {
		if size[kind] <= 0 || kind != yarn.Memory && !v.cfg.Calculator.Dominant {
			continue
		}
		most, where := int64(-1), yarn.NodeID{}
		v.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
			if there := has(n)[kind]; there > most && counts(slot, n) {
				most, where = there, n.ID
			}
			return true
		})
		if most >= 0 && most < size[kind] {
			return fmt.Sprintf(format, amount(size[kind], name), amount(most, name), where)
		}
	}
	return ""
}

// amount formats an amount of one kind: "88 vcores", "4 GiB".
func amount(n int64, kind string) string {
	if kind == yarn.MemoryName {
		return yarn.FormatMemory(n)
	}
	return fmt.Sprintf("%d %s", n, yarn.ShortKind(kind))
}

func applications(n int) string { return thousands.Count(n, "application") }

func nodes(n int) string { return thousands.Count(n, "node") }

// withLabel describes the label that nodes must have for an ask.
func (v view) withLabel(id state.LabelID) string {
	if id == 0 {
		return "without a label"
	}
	return "with label " + v.st.LabelName(id)
}

// are, run, have and ahead are subjects with their verbs.
func are(n int) string { return nodes(n) + verb(n, " is", " are") }

func run(n int) string { return nodes(n) + verb(n, " runs", " run") }

func have(n int) string { return nodes(n) + verb(n, " has", " have") }

func ahead(n int) string { return applications(n) + verb(n, " is", " are") + " ahead" }

func verb(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// judge runs the checks of a pass for one ask in their order, and returns the first that fails. all
// has the results of the nodes, or is nil if they are not known.
func (v view) judge(app, ask uint32, w without, all *survey) judgment {
	a, k := v.st.Apps.Get(app), v.st.Asks.Get(ask)
	i := v.LeafOf(a)
	if !v.anyRuns() {
		return judgment{reason: scheduler.NoNodes}
	}
	if !v.fitsSomewhere(k.Size) {
		return judgment{reason: scheduler.NodeTooSmall, never: true}
	}
	if all == nil {
		fresh := v.survey(app, ask, w)
		all = &fresh
	}
	if own := v.judgeLimits(i, a, k, w); own.reason != scheduler.NoReason {
		for _, r := range []scheduler.Reason{scheduler.NoReason, scheduler.OwnPartitionFirst} {
			if all.lent[r] > 0 { // limits of nodes without a label do not apply there
				return judgment{reason: r, nodes: all.lent[r]}
			}
		}
		return own
	}
	best := all.nearest()
	return judgment{reason: best, never: best == scheduler.NodeTooSmall, nodes: all.count[best]}
}

// judgeLimits runs the checks that do not depend on a node.
func (v view) judgeLimits(leaf int32, a *state.App, k *state.Ask, w without) judgment {
	if r := v.judgeLabel(leaf, k); r != scheduler.NoReason {
		return judgment{reason: r}
	}
	if _, r := v.capping(leaf, k.Size); r != scheduler.NoReason && !w.maximum {
		return judgment{reason: r, never: v.neverUnder(leaf, k.Size)}
	}
	if !w.user && !v.WithinUserLimit(a) {
		return judgment{reason: scheduler.UserLimit}
	}
	return judgment{}
}

// judgeLabel returns why a queue may not use nodes of the label of an ask, or NoReason.
func (v view) judgeLabel(leaf int32, k *state.Ask) scheduler.Reason {
	if name := v.st.LabelName(k.Label); name != "" {
		if _, listed := v.st.ListedLabel(name); !listed {
			return scheduler.LabelUnknown
		}
		if !v.cfg.Queues[leaf].MayUse(name) {
			return scheduler.LabelNotAccessible
		}
	}
	return scheduler.NoReason
}

// anyRuns reports whether some node takes containers. A draining node is usable but takes none.
func (v view) anyRuns() bool { return v.fitsSomewhere(yarn.Resource{}) }

// drains says how many nodes are draining.
func (v view) drains() string {
	n := 0
	v.st.Nodes.Each(func(_ uint32, node *state.Node) bool {
		if node.State == yarn.NodeDecommissioning {
			n++
		}
		return true
	})
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %s being drained", are(n))
}

// fitsSomewhere reports whether a size fits the total of some node that takes containers.
func (v view) fitsSomewhere(size yarn.Resource) bool {
	var fits bool
	v.st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		fits = n.Serving() && v.cfg.Calculator.FitsIn(size, n.Total)
		return !fits
	})
	return fits
}

// capping returns the queue whose maximum an allocation of this size would exceed now. The reason
// is NoReason if there is none.
func (v view) capping(leaf int32, size yarn.Resource) (queue int32, r scheduler.Reason) {
	for i := leaf; i >= 0; i = int32(v.cfg.Queues[i].Parent) {
		most := v.tree.Capacities[i].EffMax
		switch {
		case v.cfg.Calculator.FitsIn(v.used(i).Add(size), most):
			continue
		case v.cfg.Calculator.FitsIn(v.Total(), most):
			continue // the queue may use all nodes, and they are full: their own reasons explain more
		case i == leaf:
			return i, scheduler.QueueMaxCapacity
		}
		return i, scheduler.ParentMaxCapacity
	}
	return -1, scheduler.NoReason
}

// neverUnder reports whether a size exceeds the maximum of a queue or ancestor even when the queue
// is empty.
func (v view) neverUnder(leaf int32, size yarn.Resource) bool {
	for i := leaf; i >= 0; i = int32(v.cfg.Queues[i].Parent) {
		if !v.cfg.Calculator.FitsIn(size, v.tree.Capacities[i].EffMax) {
			return true
		}
	}
	return false
}

func (v view) explainLimits(x *Explanation, leaf int32, a *state.App, k *state.Ask) {
	for i := leaf; i >= 0; i = int32(v.cfg.Queues[i].Parent) {
		used, most := v.used(i), v.tree.Capacities[i].EffMax
		x.Limits = append(x.Limits, v.limitOf("maximum of "+v.Queue(i).Path+v.ofLabel(v.label), used, most, !v.cfg.Calculator.FitsIn(used.Add(k.Size), most)))
	}
	x.Limits = append(x.Limits, v.limitOf("limit of user "+v.st.NameOf(a.User)+v.ofLabel(v.label), v.st.UserUse(a.UserSlot, v.label).Used, v.UserLimit(leaf, a.UserSlot), !v.WithinUserLimit(a)))
}

// verdicts are short texts for the reasons of nodes, queues and users.
var verdicts = map[scheduler.Reason]string{
	scheduler.NoReason:            "has room",
	scheduler.NodeTooSmall:        "too small in all",
	scheduler.NodeTooSmallFree:    "too little is free",
	scheduler.NodeReservedByOther: "reserved for another application",
	scheduler.Blacklisted:         "blacklisted by the application",
	scheduler.LocalityDelay:       "waits for a nearer node",
	scheduler.OwnPartitionFirst:   "has another label, and waits for the ask to miss more offers",
	scheduler.OtherLabel:          "has another label",
	scheduler.LabelUnknown:        "asks for a label that is not there",
	scheduler.LabelNotAccessible:  "may not use the label",
	scheduler.QueueMaxCapacity:    "at the queue's maximum",
	scheduler.ParentMaxCapacity:   "at a parent queue's maximum",
	scheduler.UserLimit:           "at the user's limit",
	scheduler.NodeSilent:          "has room but is silent",
	scheduler.GangIncomplete:      "asks for fewer than its gang has",
	scheduler.GangWaits:           "has no room for the whole gang",
	scheduler.GangNever:           "can never run the whole gang",
	scheduler.NoAsks:              "asks for nothing",
}

// preference has the reasons of nodes in the order in which they are reported: the first that some
// node has counts.
var preference = []scheduler.Reason{scheduler.NoReason, scheduler.LocalityDelay, scheduler.OwnPartitionFirst, scheduler.NodeSilent, scheduler.NodeTooSmallFree, scheduler.NodeReservedByOther, scheduler.Blacklisted, scheduler.NodeTooSmall,
	scheduler.UserLimit, scheduler.OtherLabel}

// survey has the reasons of the running nodes that an ask may use, and of those that it may not use
// because of their labels.
type survey struct {
	count   [scheduler.Reasons]int
	lent    [scheduler.Reasons]int    // of these, nodes that are lent to the ask
	example [scheduler.Reasons]uint32 // the first node with the reason
	// closed has the nodes that other applications have reserved.
	closed []uint32
}

// survey computes the reason of every running node that the ask may use.
func (v view) survey(app, ask uint32, w without) survey {
	var out survey
	a, k := v.st.Apps.Get(app), v.st.Asks.Get(ask)
	v.Look(k.Label, false)
	l := v.LimitsFor(a, w.maximum, w.user)
	v.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		switch {
		case !n.Serving():
		case v.OtherLabel(ask, slot):
			out.add(scheduler.OtherLabel, slot)
		case !v.MayUse(ask, slot):
		case n.Label != k.Label && k.IncreaseOf == 0:
			out.addLent(heard(v.verdictLent(app, ask, slot, n, w), n, w), slot)
		default:
			out.add(heard(v.verdict(app, ask, slot, n, l, w), n, w), slot)
		}
		return true
	})
	v.Look(v.label, false)
	return out
}

// heard returns the reason for a node, given the reason that it would have if it were not silent.
// Silence counts only for nodes that would serve the ask.
func heard(r scheduler.Reason, n *state.Node, w without) scheduler.Reason {
	if r == scheduler.NoReason && n.Silent() && !w.silence {
		return scheduler.NodeSilent
	}
	return r
}

// verdictLent returns the reason for a node that is lent to the ask.
func (v view) verdictLent(app, ask, slot uint32, n *state.Node, w without) scheduler.Reason {
	v.Look(n.Label, true)
	defer v.Look(v.st.Asks.Get(ask).Label, false)
	a, k := v.st.Apps.Get(app), v.st.Asks.Get(ask)
	l := v.LimitsFor(a, w.maximum, w.user)
	switch {
	case !w.user && !v.WithinUserLimit(a):
		return scheduler.UserLimit
	case !v.cfg.Calculator.FitsIn(k.Size, l.Headroom()):
		return scheduler.NodeTooSmallFree // reservations need the free room
	}
	return v.verdict(app, ask, slot, n, l, w)
}

func (s *survey) addLent(r scheduler.Reason, node uint32) {
	s.add(r, node)
	s.lent[r]++
}

func (s *survey) add(r scheduler.Reason, node uint32) {
	if s.count[r]++; s.count[r] == 1 {
		s.example[r] = node
	}
	if r == scheduler.NodeReservedByOther {
		s.closed = append(s.closed, node)
	}
}

// nearest returns the reason that is nearest to success, or scheduler.NoNodes if there is no node.
func (s *survey) nearest() scheduler.Reason {
	for _, r := range preference {
		if s.count[r] > 0 {
			return r
		}
	}
	return scheduler.NoNodes
}

// opened returns the survey as if no node were reserved for others. It examines only the reserved
// nodes again.
func (v view) opened(app, ask uint32, all *survey) survey {
	w := without{reservations: true}
	l := v.LimitsFor(v.st.Apps.Get(app), w.maximum, w.user)
	out := *all
	out.count[scheduler.NodeReservedByOther] -= len(all.closed)
	for _, node := range all.closed {
		if n := v.st.Nodes.Get(node); n.Label != v.label {
			out.addLent(heard(v.verdictLent(app, ask, node, n, w), n, w), node)
		} else {
			out.add(heard(v.verdict(app, ask, node, n, l, w), n, w), node)
		}
	}
	return out
}

// tellNodes adds the nodes, grouped by reason.
func (x *Explanation) tellNodes(v view, all *survey) {
	for _, r := range preference {
		if all.count[r] > 0 {
			x.Nodes = append(x.Nodes, NodeGroup{Reason: r.String(), Verdict: verdicts[r], Diagnostic: r.Diagnostic(), Count: all.count[r],
				Example: v.st.Nodes.Get(all.example[r]).ID.String()})
		}
	}
}

func (v view) verdict(app, ask, slot uint32, n *state.Node, l *scheduler.Limits, w without) scheduler.Reason {
	a, k := v.st.Apps.Get(app), v.st.Asks.Get(ask)
	switch {
	case !w.reservations && n.Reservation != 0 && v.st.Reservations.Get(n.Reservation).App != app:
		return scheduler.NodeReservedByOther
	case !w.blacklist && a.Blacklisted(n):
		return scheduler.Blacklisted
	case !v.cfg.Calculator.FitsIn(k.Size, n.Total):
		return scheduler.NodeTooSmall
	case v.cfg.Calculator.AvailableContainers(n.Unallocated(), k.Size) <= 0:
		return scheduler.NodeTooSmallFree
	}
	if r := v.WhyNotPlaced(app, ask, slot, l); r != scheduler.LocalityDelay || !w.delay {
		return r
	}
	return scheduler.NoReason
}
