package explain

import (
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// neighbors is the number of applications ahead and behind that an answer names.
const neighbors = 10

// view is a scheduler that answers questions.
type view struct {
	views.View
	sched *scheduler.Scheduler
	st    *state.State
	cfg   *capacity.Config
	label state.LabelSlot // limits and orders are for the nodes of this label
}

func viewOf(s *scheduler.Scheduler) view {
	return view{View: s.In(0, false), sched: s, st: s.State, cfg: s.Config}
}

// on returns a view for the nodes of a label. With lent, it is for asks to which these nodes are
// lent.
func (v view) on(label state.LabelSlot, lent bool) view {
	v.View, v.label = v.In(label, lent), label
	return v
}

// used returns what a queue uses of the nodes of the view's label.
func (v view) used(i int32) yarn.Resource { return v.use(i).Used }

func (v view) use(i int32) state.Use {
	return v.st.QueueUse(v.st.Queues.Find(v.cfg.Queues[i].Path), v.label)
}

// ofLabel returns the end of a sentence about nodes of a label.
func (v view) ofLabel(id state.LabelSlot) string {
	if id == 0 {
		return ""
	}
	return " of label " + v.st.Labels.Name(id)
}

// firstAsk returns an application's first outstanding ask, or 0.
func (v view) firstAsk(a *state.App) state.AskSlot {
	ask := a.Asks
	for ask != 0 && v.st.Asks.Get(ask).Count == 0 {
		ask = v.st.Asks.Get(ask).Next
	}
	return ask
}

// open reports whether an ask may use a running node that no other application has reserved.
func (v view) open(app state.AppSlot, ask state.AskSlot, node state.NodeSlot, n *state.Node) bool {
	return n.TakesContainers() && v.sched.MayUse(ask, node) && !v.st.Apps.Get(app).Blacklisted(n) &&
		(n.Reservation == 0 || v.st.Reservations.Get(n.Reservation).App == app)
}

// Application explains why an application waits, or that it does not wait, which rule placed it,
// and what preemption does for it. It does not change the state.
func Application(s *scheduler.Scheduler, id yarn.ApplicationID) (*Explanation, error) {
	x, err := waiting(s, id)
	if err == nil {
		v := viewOf(s)
		slot := v.st.Apps.ByID(id)
		if p := v.st.Placements.Of(slot); p != nil {
			x.Placed = &Placed{Rule: int(p.Rule), Text: p.Text, Why: p.Why, For: p.For}
		}
		if a := v.st.Apps.Get(slot); !a.State.Ended() {
			v.explainMore(x, a)
		}
	}
	return x, err
}

// waiting is Application without placement, leases and preemption. Preemption would examine all
// applications and queues.
func waiting(s *scheduler.Scheduler, id yarn.ApplicationID) (*Explanation, error) {
	v := viewOf(s)
	slot := v.st.Apps.ByID(id)
	if slot == 0 || v.cfg == nil {
		return nil, input.NoSuchApp(id)
	}
	a := v.st.Apps.Get(slot)
	x := &Explanation{ID: id.String(), State: a.Shown().String(), Queue: v.st.QueueOf(a)}
	if a.State.Ended() {
		x.Text = "it has ended"
		return x, nil
	}
	x.WaitingMillis = v.st.WaitingMillis(a, v.st.Meta.NowMillis)
	v.explainAsks(x, a)
	v.explainReservations(x, a)
	v.explainWaiting(x, slot, a)
	return x, nil
}

// explainWaiting says what an application waits for that has not ended.
func (v view) explainWaiting(x *Explanation, slot state.AppSlot, a *state.App) {
	switch {
	case v.st.AppTokens.Waits(a.ID.Seq):
		x.because(scheduler.NoAsks, "%s", tokenWait(v.st, a))
		x.Waiting = true
	case a.AttemptState == state.AttemptNonRunnable:
		x.because(scheduler.MaxParallelApps, "%s", v.parallelLimit(a))
	case a.AttemptState == state.AttemptFinishing:
		x.because(scheduler.NoAsks, "its AM has unregistered; it ends when the AM's container does")
	case a.AttemptState == state.AttemptPending:
		v.explainActivation(x, slot, a)
	case a.Outstanding == 0:
		v.explainNoAsk(x, a)
	default:
		asks{v}.explainAsk(x, slot, a)
	}
}

// explainMore adds to the explanation of an application the reasons of its further asks, what would
// happen without the obstacle of its first ask, and what preemption does for it. This examines all
// nodes several times, and all applications.
func (v view) explainMore(x *Explanation, a *state.App) {
	slot := v.st.Apps.ByID(a.ID)
	if a.Activated() {
		asks{v}.explainFurther(x, slot, a)
	}
	alternatives{v}.explainIfs(x, slot, a)
	preemptions{v}.explainPreemption(x, a)
	v.explainLeases(x, a)
	x.Tokens = doomed(v.st, a)
}

func (x *Explanation) because(r scheduler.Reason, format string, args ...any) {
	x.Waiting, x.Reason, x.Diagnostic, x.reason = r != scheduler.NoAsks, r.String(), r.Diagnostic(), r
	x.Text = fmt.Sprintf(format, args...)
}

func (v view) explainAsks(x *Explanation, a *state.App) {
	for _, k := range v.st.Asks.Of(a) {
		if k.Count == 0 {
			continue
		}
		where := "any host"
		if k.Entries > 1 {
			where = fmt.Sprintf("%d hosts or racks preferred", k.Entries-1)
			if !k.Relax {
				where = fmt.Sprintf("%d hosts or racks only", k.Entries-1)
			}
		}
		if k.IncreaseOf != 0 {
			c := v.st.Containers.Get(k.IncreaseOf)
			where = fmt.Sprintf("for %s to grow on %s", v.st.Apps.ContainerID(c), v.st.Nodes.Get(c.Node).ID)
		}
		where += v.ofLabel(k.Label)
		x.Asks = append(x.Asks, Ask{Priority: k.Key.Priority, AllocationID: k.Key.AllocationID, Count: k.Count,
			Size: v.cfg.Kinds.Format(k.Size), Amount: v.amount(k.Size), Where: where, AM: k.AM})
	}
}

func (v view) explainReservations(x *Explanation, a *state.App) {
	for _, r := range v.st.Reservations.Of(a) {
		n := v.st.Nodes.Get(r.Node)
		h := Reservation{ID: fmt.Sprintf("r%d", r.Number), Node: n.ID.String(), Needs: v.cfg.Kinds.Format(r.Size),
			Free: v.cfg.Kinds.Format(n.Unallocated()), NeedsAmount: v.amount(r.Size), FreeAmount: v.amount(n.Unallocated()),
			AgeMillis: v.st.Meta.NowMillis - r.MadeMillis}
		for _, k := range v.st.Containers.On(n) {
			h.WaitsFor = append(h.WaitsFor, v.st.Apps.ContainerID(k).String())
		}
		x.Reserved = append(x.Reserved, h)
	}
}

func (v view) explainActivation(x *Explanation, slot state.AppSlot, a *state.App) {
	i := v.LeafOf(a)
	x.place(v, v.Pending(i), slot)
	v = v.on(a.AMLabel, false)
	leaf, of := v.st.Queues.Get(a.Queue), v.ofLabel(a.AMLabel)
	amUsed, userUsed := v.use(i).AMUsed, v.st.UserUse(a.UserSlot, a.AMLabel).AMUsed
	limit, userLimit := v.AMLimit(i), v.UserAMLimit(i, a.UserSlot)
	limits := v.sched.WhyNotActivated(a)
	x.Limits = []Limit{
		v.limitOf("AM share of queue"+of, amUsed, limit, a.AM, slices.Contains(limits, scheduler.AMLimitQueue)),
		v.limitOf("AM share of user"+of, userUsed, userLimit, a.AM, slices.Contains(limits, scheduler.AMLimitUser)),
	}
	if !v.cfg.Calculator.AnyAboveZero(v.st.Meta.Cluster) { // then all limits are 0
		x.because(scheduler.NoNodes, "the cluster has no node in use%s; it is activated when one registers", v.lost())
		return
	}
	reason := scheduler.NoReason
	if len(limits) > 0 {
		reason = limits[0]
	}
	switch reason {
	case scheduler.AMLimitQueue:
		x.because(reason, "its AM needs %s; the AMs of %s use %s of %s%s; with it %s", v.cfg.Kinds.Format(a.AM), leaf.Path,
			v.cfg.Kinds.Format(amUsed), v.cfg.Kinds.Format(limit), of, x.Limits[0].Over)
	case scheduler.AMLimitUser:
		x.because(reason, "its AM needs %s; the AMs of user %s use %s of %s%s; with it %s", v.cfg.Kinds.Format(a.AM),
			v.st.Names.Text(a.User), v.cfg.Kinds.Format(userUsed), v.cfg.Kinds.Format(userLimit), of, x.Limits[1].Over)
	case scheduler.NoReason:
		if v.sched.ActivatedNext(i) != slot {
			x.because(scheduler.BehindFIFO, "%s in %s, and no limit blocks it", ahead(x.Position-1), leaf.Path)
			return
		}
		x.because(scheduler.NextPass, "no limit blocks it; it is activated within a second or two")
	}
}

// lost says how many nodes are lost, or returns "".
func (v view) lost() string {
	n := 0
	v.st.Nodes.Each(func(_ state.NodeSlot, node *state.Node) bool {
		if node.State == yarn.NodeLost {
			n++
		}
		return true
	})
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(": %d of %s LOST, see \"rmd node list\"", n, nodes(v.st.Nodes.Len()))
}

// parallelLimit says which limit on parallel applications blocks an application.
func (v view) parallelLimit(a *state.App) string {
	switch l, reached := v.sched.ReachedParallelLimit(a); {
	case !reached:
		return "no limit on parallel applications is reached any more; it starts within a second or two"
	case l.User != "":
		return fmt.Sprintf("user %s runs %s, and may run %d at a time", l.User, applications(int(l.Running)), l.Most)
	default:
		return fmt.Sprintf("%s runs %s, and may run %d at a time", l.Queue, applications(int(l.Running)), l.Most)
	}
}

func (v view) limitOf(name string, used, most, need yarn.Resource, binds bool) Limit {
	l := Limit{Name: name, Used: v.cfg.Kinds.Format(used), Most: v.cfg.Kinds.Format(most), Binds: binds,
		UsedAmount: v.amount(used), MostAmount: v.amount(most)}
	if binds {
		l.Over = v.over(used.Add(need), most)
	}
	return l
}

// over returns the kinds that count of which an amount exceeds a limit, with both numbers.
func (v view) over(amount, most yarn.Resource) string {
	var out []string
	for i, kind := range v.cfg.Kinds {
		var one yarn.Resource
		one[i] = amount[i]
		if !v.cfg.Calculator.FitsIn(one, most) {
			out = append(out, fmt.Sprintf("%s would be %s of %s", strings.TrimSuffix(yarn.ShortKind(kind), "-mb"),
				yarn.FormatKind(kind, amount[i]), yarn.FormatKind(kind, most[i])))
		}
	}
	return strings.Join(out, " and ")
}

func (v view) amount(r yarn.Resource) Amount {
	out := make(Amount, len(v.cfg.Kinds))
	for i, name := range v.cfg.Kinds {
		out[name] = r[i]
	}
	return out
}

// place sets the position and the neighbors of an application in an ordered list.
func (x *Explanation) place(v view, list []state.AppSlot, slot state.AppSlot) {
	x.Of = len(list)
	for k, s := range list {
		if s != slot {
			continue
		}
		x.Position = k + 1
		for _, o := range list[max(0, k-neighbors):k] {
			x.Ahead = append(x.Ahead, v.st.Apps.Get(o).ID.String())
		}
		for _, o := range list[k+1 : min(len(list), k+1+neighbors)] {
			x.Behind = append(x.Behind, v.st.Apps.Get(o).ID.String())
		}
	}
}

// explainNoAsk says what an application without outstanding asks waits for.
func (v view) explainNoAsk(x *Explanation, a *state.App) {
	switch {
	case a.AttemptState == state.AttemptRegistered:
		x.because(scheduler.NoAsks, "it runs and has no pending asks")
		return
	case a.Unmanaged:
		x.because(scheduler.AMNotRegistered, "its unmanaged AM has not registered")
		return
	}
	for _, c := range v.st.Containers.Of(a) {
		if !c.AM || !c.State.Live() {
			continue
		}
		node := v.st.Nodes.Get(c.Node).ID
		if c.Launched {
			x.because(scheduler.AMNotRegistered, "its AM runs on %s and has not registered", node)
		} else {
			x.because(scheduler.AMNotLaunched, "its AM was placed on %s, which has not reported it yet", node)
		}
		return
	}
	x.because(scheduler.AMNotLaunched, "its AM of %s waits for a node", v.cfg.Kinds.Format(a.AM))
}
