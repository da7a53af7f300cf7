package explain

import (
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/internal/thousands"
	"rmd/scheduler"
	"rmd/yarn"
)

// judgment is why passes do not serve one ask.
type judgment struct {
	reason scheduler.Reason
	never  bool   // the ask can never be served as it is
	nodes  int    // nodes with this reason
	text   string // the reason with its numbers
}

// asks says why passes do not serve an application's asks.
type asks struct{ view }

// on returns the same for the nodes of a label.
func (v asks) on(label state.LabelSlot, lent bool) asks { return asks{v.view.on(label, lent)} }

// explainAsk says why the scheduler does not serve the first outstanding ask, and what would happen
// without this obstacle.
func (v asks) explainAsk(x *Explanation, slot state.AppSlot, a *state.App) {
	i := v.LeafOf(a)
	ask := v.firstAsk(a)
	k := v.st.Asks.Get(ask)
	v = v.on(k.Label, false)
	x.place(v.view, v.Active(i), slot)
	v.explainLimits(x, i, a, k)
	v.explainOne(x, slot, ask)
}

// explainOne says why one ask is not served, and what the nodes say.
func (v asks) explainOne(x *Explanation, slot state.AppSlot, ask state.AskSlot) {
	all, k := v.survey(slot, ask), v.st.Asks.Get(ask)
	x.tellNodes(v.view, &all)
	if v.st.Gangs.HoldsBack(k) && v.judgeLabel(v.LeafOf(v.st.Apps.Get(slot)), k) == scheduler.NoReason {
		v.explainGang(x, slot, ask, &all)
		return
	}
	j := v.judge(slot, ask, &all)
	x.Never = j.never
	x.because(j.reason, "%s", j.text)
}

// explainFurther adds the reasons of the first asks of an application.
func (v asks) explainFurther(x *Explanation, slot state.AppSlot, a *state.App) {
	n := 0
	for ask, k := range v.st.Asks.Of(a) {
		if k.Count == 0 {
			continue
		}
		if n == explainedAsks {
			return
		}
		at := v.on(k.Label, false)
		one := &Explanation{Queue: x.Queue}
		at.explainOne(one, slot, ask)
		k := &x.Asks[n]
		k.Reason, k.Text, k.Diagnostic, k.Never = one.Reason, one.Text, one.Diagnostic, one.Never
		n++
	}
}

// explainedAsks is the number of asks of an application that are explained.
const explainedAsks = 16

// tell fills in the text of a judgment.
func (v asks) tell(j judgment, app state.AppSlot, ask state.AskSlot, all *survey) judgment {
	say := func(format string, args ...any) { j.text = fmt.Sprintf(format, args...) }
	a, k := v.st.Apps.Get(app), v.st.Asks.Get(ask)
	i := v.LeafOf(a)
	queue := v.Queue(i).Path
	size, of := v.cfg.Kinds.Format(k.Size), v.ofLabel(k.Label)
	room := have(all.count[scheduler.NoReason])
	switch j.reason {
	case scheduler.LabelUnknown:
		say("it asks for nodes%s, which the cluster does not have any more; it waits until the label is added again", of)
	case scheduler.LabelNotAccessible:
		say("it asks for nodes%s, which %s may not use any more", of, queue)
	case scheduler.OtherLabel:
		say("it asks for nodes %s; %s, but with other labels", v.withLabel(k.Label), run(j.nodes))
	case scheduler.NoNodes:
		if say("none of the cluster's %s runs%s", nodes(v.st.Nodes.Len()), v.drains()); v.anyRuns() {
			say("no node runs on the hosts and racks that it names, and it accepts no others")
		}
	case scheduler.NodeTooSmall:
		if say("it asks %s: %s, so it can never fit", size, v.largest(app, ask)); !j.never {
			say("it asks %s: %s; %s", size, v.largest(app, ask), v.largeEnough(ask, func(*state.Node) bool { return true }))
		}
	case scheduler.QueueMaxCapacity, scheduler.ParentMaxCapacity:
		q, _ := scheduler.ReachedMaximum(&v.View, i, k.Size)
		if q < 0 {
			q = max(int32(v.cfg.Queues[i].Parent), 0)
		}
		say("it asks %s; %s uses %s of its maximum of %s%s", size, v.Queue(q).Path, v.cfg.Kinds.Format(v.used(q)),
			v.cfg.Kinds.Format(v.Capacities()[q].EffMax), of)
	case scheduler.ReservedElsewhere:
		q, _ := scheduler.ReachedMaximum(&v.View, i, k.Size)
		say(
			"it asks %s: %s room, but %s uses %s of %s%s, and of that %s are reservations on other nodes, which count as used",
			size, have(j.nodes), v.Queue(max(q, 0)).Path,
			v.cfg.Kinds.Format(v.used(max(q, 0))), v.cfg.Kinds.Format(v.Total()), of,
			v.cfg.Kinds.Format(v.use(max(q, 0)).Reserved))
	case scheduler.GuaranteeKept:
		say("it asks %s: %s room, but %s", size, have(j.nodes), v.kept(i, k.Size))
	case scheduler.UserLimit:
		say("user %s uses %s in %s; its limit is %s%s", v.st.Names.Text(a.User),
			v.cfg.Kinds.Format(v.st.UserUse(a.UserSlot, v.label).Used), queue,
			v.cfg.Kinds.Format(v.UserLimit(i, a.UserSlot)), of)
	case scheduler.NextPass:
		say("%s room: the next pass serves the ask", room)
	case scheduler.BehindOtherAsk:
		if say(
			"another ask of the application is served first, or waits for the same nodes"); all.count[scheduler.NoReason] > 0 {
			say("%s room, but another ask of the application is served first", room)
		}
	case scheduler.BehindFIFO:
		say("%s room, but %s in %s", room, ahead(len(v.ActiveBefore(app))), queue)
	case scheduler.BehindQueue:
		say("%s room, but other queues come before %s%s", room, queue, v.firstQueues(i))
	case scheduler.LocalityDelay:
		say("it asks %s: %s room, but it waits for one of the %d hosts or racks that it prefers, for %d missed opportunities so far", size, have(j.nodes), k.Entries-1, k.Opportunities)
	case scheduler.OwnPartitionFirst:
		say("it asks %s: %s room and a label that it does not ask for; it may use such nodes after %d missed offers, and has missed %d so far", size, have(j.nodes), v.sched.OffersToMiss(), k.Missed)
	case scheduler.HoldsReservations:
		say("it asks %s: %s room, but as many nodes are reserved for it as it needs, and it does not give them up", size,
			have(j.nodes))
	case scheduler.NodeReservedByOther:
		say("it asks %s: %s reserved for another application, and no other node that it may use is large enough",
			size, are(j.nodes))
	case scheduler.Blacklisted:
		say("it asks %s: %s on the application's blacklist, and no other node that it may use is large enough",
			size, are(j.nodes))
	case scheduler.NodeSilent:
		n := v.st.Nodes.Get(all.example[j.reason])
		say("it asks %s: %s room, but no heartbeat has come from there lately; %s has been silent for %d s", size,
			have(j.nodes), n.ID, n.SilentMillis(v.st.Meta.NowMillis)/1000)
	case scheduler.NodeTooSmallFree:
		if say("it asks %s%s: %s", size, of, v.scarce(app, ask)); k.Reservations > 0 {
			v.tellReserved(say, a, k)
		}
	default:
		say("it asks %s: %s on %s", size, j.reason.Verdict(), nodes(j.nodes))
	}
	return j
}

// tellReserved says which node is reserved for an ask.
func (v asks) tellReserved(say func(format string, args ...any), a *state.App, k *state.Ask) {
	for _, r := range v.st.Reservations.Of(a) {
		if r.Key == k.Key && r.IncreaseOf == k.IncreaseOf && r.Members == 0 {
			say("node %s is reserved for it (r%d) until %s is free there", v.st.Nodes.Get(r.Node).ID, r.Number,
				v.cfg.Kinds.Format(r.Size))
			return
		}
	}
}

// firstQueues names the queues to which a node is offered before a leaf.
func (v asks) firstQueues(leaf int32) string {
	before := v.QueuesBefore(leaf)
	if len(before) == 0 {
		return ""
	}
	text := ": " + v.Queue(before[0]).Path
	if more := len(before) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// scarce says of which resource no node has enough free for an ask, and which node has the most of
// it. It ignores nodes that are reserved for others.
func (v asks) scarce(app state.AppSlot, ask state.AskSlot) string {
	free := func(n *state.Node) yarn.Resource { return n.Unallocated() }
	if text := v.lacking("no unreserved node has %s free; the most is %s on %s", ask, free,
		func(slot state.NodeSlot, n *state.Node) bool { return v.open(app, ask, slot, n) }); text != "" {
		return text
	}
	return "no unreserved node has all of it free at once"
}

// largest says of which resource no node has enough in total, and which node has the most of it.
func (v asks) largest(app state.AppSlot, ask state.AskSlot) string {
	total := func(n *state.Node) yarn.Resource { return n.Total }
	if text := v.lacking("no node has %s; the most is %s on %s", ask, total,
		func(slot state.NodeSlot, n *state.Node) bool { return n.Serving() && v.sched.MayUse(ask, slot) }); text != "" {
		return text
	}
	return "no node that it may use has all of it"
}

// lacking finds the first resource of which an ask needs more than any node has. It formats how
// much that is, the most that a node has, and which node that is.
func (v asks) lacking(format string, ask state.AskSlot, has func(*state.Node) yarn.Resource,
	counts func(slot state.NodeSlot, n *state.Node) bool) string {
	size := v.st.Asks.Get(ask).Size
	for kind, name := range v.cfg.Kinds {
		if size[kind] <= 0 || kind != yarn.Memory && !v.cfg.Calculator.Dominant {
			continue
		}
		most, where := int64(-1), yarn.NodeID{}
		v.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
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
func (v asks) withLabel(id state.LabelSlot) string {
	if id == 0 {
		return "without a label"
	}
	return "with label " + v.st.Labels.Name(id)
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

// judge says why passes do not serve an ask. all has the results of the nodes.
func (v asks) judge(app state.AppSlot, ask state.AskSlot, all *survey) judgment {
	a, k := v.st.Apps.Get(app), v.st.Asks.Get(ask)
	is := func(r scheduler.Reason) judgment {
		return v.tell(judgment{reason: r, never: v.never(r, app, ask), nodes: all.count[r]}, app, ask, all)
	}
	switch label := v.judgeLabel(v.LeafOf(a), k); {
	case !v.anyRuns():
		return is(scheduler.NoNodes)
	case label != scheduler.NoReason && !slices.ContainsFunc(all.open,
		func(node state.NodeSlot) bool { return v.st.Nodes.Get(node).Reservation != 0 }):
		return is(label) // else its reservation is fulfilled all the same
	}
	best := all.nearest()
	limit := v.sched.NewTrial(app, ask, true).Limit()
	switch {
	case best == scheduler.NoReason:
	case best == scheduler.NodeTooSmall, limit == scheduler.NoReason, limit == scheduler.ReservedElsewhere,
		v.limitsByNodes(app, k):
	case all.lent[scheduler.OwnPartitionFirst] > 0: // a limit of the nodes that it asks for is no limit of those that are lent to it
		best = scheduler.OwnPartitionFirst
	default:
		best = limit
	}
	if best == scheduler.NoReason {
		best = v.before(app, ask, all)
	}
	return is(best)
}

// limitsByNodes reports whether the first queue without room for an ask may use all nodes. Then the
// nodes explain more than the queue.
func (v asks) limitsByNodes(app state.AppSlot, k *state.Ask) bool {
	q, _ := scheduler.ReachedMaximum(&v.View, v.LeafOf(v.st.Apps.Get(app)), k.Size)
	return q >= 0 && v.WithinUserLimit(app) && v.cfg.Calculator.FitsIn(v.Total(), v.Capacities()[q].EffMax)
}

// before returns what passes serve before the ask on the nodes that have room for it, by the node
// where the fewest others come first.
func (v asks) before(app state.AppSlot, ask state.AskSlot, all *survey) scheduler.Reason {
	t, best := v.sched.NewTrial(app, ask, true), scheduler.BehindOtherAsk
	for _, node := range all.open {
		switch r := t.Before(node); {
		case r == scheduler.NextPass:
			return r
		case r == scheduler.BehindQueue, r == scheduler.BehindFIFO && best == scheduler.BehindOtherAsk:
			best = r
		}
	}
	return best
}

// judgeLabel returns why a queue may not use nodes of the label of an ask, or NoReason.
func (v asks) judgeLabel(leaf int32, k *state.Ask) scheduler.Reason {
	if name := v.st.Labels.Name(k.Label); name != "" {
		if _, listed := v.st.Labels.Listed(name); !listed {
			return scheduler.LabelUnknown
		}
		if !v.cfg.Queues[leaf].MayUse(name) {
			return scheduler.LabelNotAccessible
		}
	}
	return scheduler.NoReason
}

// anyRuns reports whether some node takes containers. A draining node is usable but takes none.
func (v asks) anyRuns() (runs bool) {
	v.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		runs = n.Serving()
		return !runs
	})
	return runs
}

// drains says how many nodes are draining.
func (v asks) drains() string {
	n := 0
	v.st.Nodes.Each(func(_ state.NodeSlot, node *state.Node) bool {
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

// never reports whether the reason can never go away as long as the nodes and queues are those that
// the cluster knows.
func (v asks) never(r scheduler.Reason, app state.AppSlot, ask state.AskSlot) bool {
	k := v.st.Asks.Get(ask)
	if k.Reservations > 0 { // no limit prevents its fulfillment
		return false
	}
	switch r {
	case scheduler.NodeTooSmall:
		return v.largeEnough(ask, func(*state.Node) bool { return true }) == ""
	case scheduler.QueueMaxCapacity, scheduler.ParentMaxCapacity: // they do not apply to nodes that are lent
		return v.sched.NeverWithin(v.LeafOf(v.st.Apps.Get(app)), k.Label, k.Size) &&
			v.largeEnough(ask, func(n *state.Node) bool { return n.Label != k.Label }) == ""
	}
	return false
}

// largeEnough names a node that is, or may be, large enough for an ask, among those for which of returns
// true. It returns "" if there is none.
func (v asks) largeEnough(ask state.AskSlot, of func(*state.Node) bool) (text string) {
	v.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		switch fits := v.cfg.Calculator.FitsIn(v.st.Asks.Get(ask).Size, n.Total); {
		case !of(n) || !v.sched.MayUse(ask, slot):
		case scheduler.MayReturn(n):
			text = fmt.Sprintf("%s is %s, and may be large enough when it serves again", n.ID, n.State)
		case n.Serving() && fits:
			text = fmt.Sprintf("%s is large enough", n.ID)
		}
		return text == ""
	})
	return text
}

func (v asks) explainLimits(x *Explanation, leaf int32, a *state.App, k *state.Ask) {
	for i := leaf; i >= 0; i = int32(v.cfg.Queues[i].Parent) {
		used, most := v.used(i), v.Capacities()[i].EffMax
		x.Limits = append(x.Limits, v.limitOf("maximum of "+v.Queue(i).Path+v.ofLabel(v.label), used, most, k.Size,
			!v.cfg.Calculator.FitsIn(used.Add(k.Size), most)))
	}
	x.Limits = append(x.Limits, v.limitOf("limit of user "+v.st.Names.Text(a.User)+v.ofLabel(v.label),
		v.st.UserUse(a.UserSlot, v.label).Used, v.UserLimit(leaf, a.UserSlot), yarn.Resource{},
		!v.WithinUserLimit(v.st.Apps.ByID(a.ID))))
}

// survey has the reasons of the running nodes that an ask may use, and of those that it may not use
// because of their labels.
type survey struct {
	count   [scheduler.Reasons]int
	lent    [scheduler.Reasons]int            // of these, nodes that are lent to the ask
	example [scheduler.Reasons]state.NodeSlot // the first node with the reason
	open    []state.NodeSlot                  // nodes on which a pass may serve the ask, at most openNodes
}

// openNodes is the number of nodes with room for which passes are tried.
const openNodes = 32

// survey asks for the reason of every running node that the ask may use.
func (v asks) survey(app state.AppSlot, ask state.AskSlot) survey {
	var out survey
	t, label := v.sched.NewTrial(app, ask, true), v.st.Asks.Get(ask).Label
	gang := v.st.Gangs.HoldsBack(v.st.Asks.Get(ask)) // it starts with the pass on any node
	v.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		switch {
		case !n.Serving():
		case v.sched.OtherLabel(ask, slot):
			out.add(scheduler.OtherLabel, slot, false)
		case v.sched.MayUse(ask, slot):
			r := t.Refusal(slot)
			if r == scheduler.NoReason && n.Silent() {
				r = scheduler.NodeSilent
			}
			out.add(r, slot, n.Label != label)
		}
		if gang && n.TakesContainers() && n.Label == label && (n.Reservation == 0 || v.heldByGang(app, n)) {
			out.tryOn(slot)
		}
		return true
	})
	return out
}

func (s *survey) add(r scheduler.Reason, node state.NodeSlot, lent bool) {
	if s.count[r]++; s.count[r] == 1 {
		s.example[r] = node
	}
	if lent {
		s.lent[r]++
	}
	if r == scheduler.NoReason {
		s.tryOn(node)
	}
}

// heldByGang reports whether a reserved node is held for the gang of an application.
func (v asks) heldByGang(app state.AppSlot, n *state.Node) bool {
	r := v.st.Reservations.Get(n.Reservation)
	return r.App == app && r.Members != 0
}

func (s *survey) tryOn(node state.NodeSlot) {
	if len(s.open) < openNodes && !slices.Contains(s.open, node) {
		s.open = append(s.open, node)
	}
}

// nearest returns the reason that is nearest to success, or scheduler.NoNodes if there is no node.
func (s *survey) nearest() scheduler.Reason {
	for r := range scheduler.NearestFirst() {
		if s.count[r] > 0 {
			return r
		}
	}
	return scheduler.NoNodes
}

// tellNodes adds the nodes, grouped by reason.
func (x *Explanation) tellNodes(v view, all *survey) {
	for r := range scheduler.NearestFirst() {
		if all.count[r] > 0 {
			x.Nodes = append(x.Nodes, NodeGroup{Reason: r.String(), Verdict: r.Verdict(), Diagnostic: r.Diagnostic(),
				Count:   all.count[r],
				Example: v.st.Nodes.Get(all.example[r]).ID.String()})
		}
	}
}

// kept says what is kept for others that had to wait for their guarantees.
func (v asks) kept(leaf int32, size yarn.Resource) string {
	var queues []string
	room := v.KeptFrom(leaf, size, v.sched.Now(), func(i int32) { queues = append(queues, v.Queue(i).Path) })
	return fmt.Sprintf("%s are kept for %s, which had to wait for its guarantee", v.cfg.Kinds.Format(room),
		strings.Join(queues, ", "))
}
