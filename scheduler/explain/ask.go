package explain

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/yarn"
)

// without says what a judgment leaves out of account.
type without struct{ maximum, user, reservations, delay, blacklist bool }

// judgment is what the planner's checks come to for one ask.
type judgment struct {
	reason scheduler.Reason // scheduler.NoReason: a node would serve it in its next pass
	never  bool             // it can never be served as asked
}

// firstAsk is an application's first outstanding ask.
func (v view) firstAsk(a *state.App) uint32 {
	ask := a.Asks
	for ask != 0 && v.st.Asks.Get(ask).Count == 0 {
		ask = v.st.Asks.Get(ask).Next
	}
	return ask
}

// explainAsk tells why the first outstanding ask is not served, and what would
// be if it were not for that.
func (v view) explainAsk(x *Explanation, slot uint32, a *state.App) {
	i := v.LeafOf(a)
	x.place(v, v.Active(i), slot)
	ask := v.firstAsk(a)
	k := v.st.Asks.Get(ask)
	v.explainLimits(x, i, a, k)
	all := v.survey(slot, ask, without{})
	x.tellNodes(v, &all)
	j := v.judge(slot, ask, without{}, &all)
	x.Never = j.never
	size := v.cfg.Kinds.Format(k.Size)
	switch {
	case j.reason == scheduler.NoNodes && v.anyRuns():
		x.because(j.reason, "no node runs on the hosts and racks that it names, and it accepts no others")
	case j.reason == scheduler.NoNodes:
		x.because(j.reason, "none of the cluster's %s runs%s", nodes(v.st.Nodes.Len()), v.drains())
	case j.reason == scheduler.NodeTooSmall:
		x.because(j.reason, "it asks %s: %s, so it can never fit", size, v.largest(slot, ask))
	case j.reason == scheduler.QueueMaxCapacity || j.reason == scheduler.ParentMaxCapacity:
		q, _ := v.capping(i, k.Size)
		x.because(j.reason, "it asks %s; %s uses %s of its maximum of %s", size, v.Queue(q).Path, v.cfg.Kinds.Format(v.Queue(q).Used), v.cfg.Kinds.Format(v.tree.Capacities[q].EffMax))
	case j.reason == scheduler.UserLimit:
		x.because(j.reason, "user %s uses %s in %s; its limit is %s", v.st.NameOf(a.User), v.cfg.Kinds.Format(v.st.Users.Get(a.UserSlot).Used), x.Queue, v.cfg.Kinds.Format(v.UserLimit(i, a.UserSlot)))
	case len(x.Reserved) > 0:
		x.because(scheduler.NodeTooSmallFree, "node %s is reserved for it (%s) until %s is free there", x.Reserved[0].Node, x.Reserved[0].ID, x.Reserved[0].Needs)
	case j.reason == scheduler.NoReason && x.Position > 1:
		x.because(scheduler.BehindFIFO, "%s room, but %s in %s", have(all.count[j.reason]), ahead(x.Position-1), x.Queue)
	case j.reason == scheduler.NoReason:
		x.because(scheduler.BehindFIFO, "%s room: the next pass serves the ask, unless another queue comes first", have(all.count[j.reason]))
	case j.reason == scheduler.LocalityDelay:
		x.because(j.reason, "it asks %s: %s room, but it waits for one of the %d hosts or racks that it prefers, for %d missed opportunities so far",
			size, have(all.count[j.reason]), k.Entries-1, k.Opportunities)
	case j.reason == scheduler.OwnPartitionFirst:
		x.because(j.reason, "it asks %s: %s room and a label that it does not ask for; it may use such nodes after %d missed offers, and has missed %d so far",
			size, have(all.count[j.reason]), v.OffersToMiss(), k.Missed)
	case j.reason == scheduler.NodeReservedByOther:
		x.because(j.reason, "it asks %s: %s reserved for another application, and no other node that it may use is large enough", size, are(all.count[j.reason]))
	case j.reason == scheduler.Blacklisted:
		x.because(j.reason, "it asks %s: %s on the application's blacklist, and no other node that it may use is large enough", size, are(all.count[j.reason]))
	case j.reason == scheduler.NodeTooSmallFree:
		x.because(j.reason, "it asks %s: %s", size, v.scarce(slot, ask))
	default:
		x.because(j.reason, "it asks %s: %s on %s", size, verdicts[j.reason], nodes(all.count[j.reason]))
	}
	v.explainIfs(x, slot, ask, &all)
}

// scarce says which kind of resource no node has enough of free for an ask, and which node has
// the most of it. Nodes that are reserved for others do not count.
func (v view) scarce(app, ask uint32) string {
	free := func(n *state.Node) yarn.Resource { return n.Unallocated() }
	if text := v.lacking("no unreserved node has %s free; the most is %s on %s", ask, free, func(slot uint32, n *state.Node) bool { return v.open(app, ask, slot, n) }); text != "" {
		return text
	}
	return "no unreserved node has all of it free at once"
}

// largest says which kind of resource no node has enough of in all, and which node has the most of it.
func (v view) largest(app, ask uint32) string {
	total := func(n *state.Node) yarn.Resource { return n.Total }
	if text := v.lacking("no node has %s; the most is %s on %s", ask, total, func(slot uint32, n *state.Node) bool { return n.State == yarn.NodeRunning && v.MayUse(ask, slot) }); text != "" {
		return text
	}
	return "no node that it may use has all of it"
}

// lacking finds the first kind of resource that an ask needs more of than any node has, and writes with
// format how much that is, the most that there is, and where.
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

// amount is a quantity of one kind in words: "88 vcores", "4 GiB".
func amount(n int64, kind string) string {
	if kind == yarn.MemoryName {
		return yarn.FormatMemory(n)
	}
	return fmt.Sprintf("%d %s", n, yarn.ShortKind(kind))
}

// plural is "1 node", "2 nodes".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func applications(n int) string { return plural(n, "application") }

func nodes(n int) string { return plural(n, "node") }

// are, have and ahead are subjects with their verbs.
func are(n int) string { return nodes(n) + verb(n, " is", " are") }

func have(n int) string { return nodes(n) + verb(n, " has", " have") }

func ahead(n int) string { return applications(n) + verb(n, " is", " are") + " ahead" }

func verb(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// judge runs the checks of a pass for one ask, in their order, and returns the
// first that fails. The nodes have said what they say when all is given.
func (v view) judge(app, ask uint32, w without, all *survey) judgment {
	a, k := v.st.Apps.Get(app), v.st.Asks.Get(ask)
	i := v.LeafOf(a)
	if !v.anyRuns() {
		return judgment{reason: scheduler.NoNodes}
	}
	if !v.fitsSomewhere(k.Size) {
		return judgment{reason: scheduler.NodeTooSmall, never: true}
	}
	if _, r := v.capping(i, k.Size); r != scheduler.NoReason && !w.maximum {
		return judgment{reason: r, never: v.neverUnder(i, k.Size)}
	}
	if !w.user && !v.WithinUserLimit(a) {
		return judgment{reason: scheduler.UserLimit}
	}
	if all == nil {
		fresh := v.survey(app, ask, w)
		all = &fresh
	}
	best := all.nearest()
	return judgment{reason: best, never: best == scheduler.NodeTooSmall}
}

// anyRuns says whether some node takes containers. One that drains is usable, and takes none.
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

// fitsSomewhere says whether a size fits the total of some node that takes containers.
func (v view) fitsSomewhere(size yarn.Resource) bool {
	var fits bool
	v.st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		fits = n.State == yarn.NodeRunning && v.cfg.Calculator.FitsIn(size, n.Total)
		return !fits
	})
	return fits
}

// capping says which queue's maximum an allocation of size would exceed now.
func (v view) capping(leaf int32, size yarn.Resource) (queue int32, r scheduler.Reason) {
	for i := leaf; i >= 0; i = int32(v.cfg.Queues[i].Parent) {
		q := v.Queue(i)
		most := v.tree.Capacities[i].EffMax
		switch {
		case v.cfg.Calculator.FitsIn(q.Used.Add(size), most):
			continue
		case v.cfg.Calculator.FitsIn(v.st.Meta.Cluster, most):
			continue // it may have all of the cluster, which is full: the nodes say so better
		case i == leaf:
			return i, scheduler.QueueMaxCapacity
		}
		return i, scheduler.ParentMaxCapacity
	}
	return -1, scheduler.NoReason
}

// neverUnder says whether a size is above the maximum of a queue or ancestor
// even when it is empty.
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
		q, most := v.Queue(i), v.tree.Capacities[i].EffMax
		x.Limits = append(x.Limits, v.limitOf("maximum of "+q.Path, q.Used, most, !v.cfg.Calculator.FitsIn(q.Used.Add(k.Size), most)))
	}
	x.Limits = append(x.Limits, v.limitOf("limit of user "+v.st.NameOf(a.User), v.st.Users.Get(a.UserSlot).Used, v.UserLimit(leaf, a.UserSlot), !v.WithinUserLimit(a)))
}

// verdicts are what nodes, queues and users say to an ask, in a few words.
var verdicts = map[scheduler.Reason]string{
	scheduler.NoReason:            "has room",
	scheduler.NodeTooSmall:        "too small in all",
	scheduler.NodeTooSmallFree:    "too little is free",
	scheduler.NodeReservedByOther: "reserved for another application",
	scheduler.Blacklisted:         "blacklisted by the application",
	scheduler.LocalityDelay:       "waits for a nearer node",
	scheduler.OwnPartitionFirst:   "has another label, and waits for the ask to miss more offers",
	scheduler.QueueMaxCapacity:    "at the queue's maximum",
	scheduler.ParentMaxCapacity:   "at a parent queue's maximum",
	scheduler.UserLimit:           "at the user's limit",
	scheduler.NoAsks:              "asks for nothing",
}

// order of preference when nodes differ: the first that any node says.
var preference = []scheduler.Reason{scheduler.NoReason, scheduler.LocalityDelay, scheduler.OwnPartitionFirst, scheduler.NodeTooSmallFree, scheduler.NodeReservedByOther, scheduler.Blacklisted, scheduler.NodeTooSmall}

// survey is what the running nodes that an ask may use say of it.
type survey struct {
	count   [scheduler.Reasons]int
	example [scheduler.Reasons]uint32 // the first node that says so
	// closed are those that somebody else has reserved.
	closed []uint32
}

// survey asks every running node that the ask may use.
func (v view) survey(app, ask uint32, w without) survey {
	var out survey
	l := v.LimitsFor(v.st.Apps.Get(app), w.maximum, w.user)
	v.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if n.State == yarn.NodeRunning && v.MayUse(ask, slot) {
			out.add(v.verdict(app, ask, slot, n, l, w), slot)
		}
		return true
	})
	return out
}

func (s *survey) add(r scheduler.Reason, node uint32) {
	if s.count[r]++; s.count[r] == 1 {
		s.example[r] = node
	}
	if r == scheduler.NodeReservedByOther {
		s.closed = append(s.closed, node)
	}
}

// nearest is the verdict that is nearest to being served; scheduler.NoNodes when there is
// no node.
func (s *survey) nearest() scheduler.Reason {
	for _, r := range preference {
		if s.count[r] > 0 {
			return r
		}
	}
	return scheduler.NoNodes
}

// opened is what the nodes would say if none were reserved for others: only those
// that are have to be asked again.
func (v view) opened(app, ask uint32, all *survey) survey {
	w := without{reservations: true}
	l := v.LimitsFor(v.st.Apps.Get(app), w.maximum, w.user)
	out := *all
	out.count[scheduler.NodeReservedByOther] -= len(all.closed)
	for _, node := range all.closed {
		out.add(v.verdict(app, ask, node, v.st.Nodes.Get(node), l, w), node)
	}
	return out
}

// tellNodes groups the verdicts of the nodes.
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
