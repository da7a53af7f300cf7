package planner

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestExplanationsAreTrue takes explanations of random clusters at their word: it does in a fork what
// an explanation says, and counts the nodes itself. A story has about twelve clusters. EXPLAIN_COUNT=1
// runs all stories of -rapid.checks and prints how many claims of each kind were checked.
func TestExplanationsAreTrue(t *testing.T) {
	t.Parallel()
	counts, stories := map[string]int{}, 0
	long := os.Getenv("EXPLAIN_COUNT") != ""
	rapid.Check(t, func(t *rapid.T) {
		if stories++; stories > 50 && !long {
			return
		}
		m := newMachine(t, rapid.Bool().Draw(t, "labels"))
		m.quick = true
		do := m.explainedActions()
		for i := range 8 {
			do[fmt.Sprintf("explain%d", i)] = func(t *rapid.T) { m.checkExplanations(counts) }
		}
		t.Repeat(do)
		m.checkExplanations(counts)
	})
	if long {
		for _, k := range sortedKeys(counts) {
			t.Logf("%8d %s", counts[k], k)
		}
	}
}

// explainedActions returns the inputs of a story: those of one of the other tests.
func (m *machine) explainedActions() map[string]func(*rapid.T) {
	m.limits(m.t)
	switch rapid.IntRange(0, 3).Draw(m.t, "kind of story") {
	case 0:
		return m.actions()
	case 1:
		return m.choosingActions()
	case 2:
		if m.labelled {
			return m.mixedActions()
		}
	}
	return m.reservingActions()
}

// limits draws limits that hold more applications back than those of the trees.
func (m *machine) limits(t *rapid.T) {
	of := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	m.extra = map[string]string{
		confPrefix + "root.b.max-parallel-apps":                        of("parallel", "-1", "1", "2"),
		confPrefix + "root.a.x.user-limit-factor":                      of("factor", "20", "1", "0.5"),
		confPrefix + "root.c.maximum-am-resource-percent":              of("AM share", "1", "0.1", "0.3"),
		confPrefix + "reservations-continue-look-all-nodes":            of("continues", "true", "true", "false"),
		confPrefix + "per-node-heartbeat.multiple-assignments-enabled": "true",
	}
	if !strings.Contains(strings.Join(m.tree(), " "), "[") {
		m.extra[confPrefix+"root.a.maximum-capacity"] = of("maximum of a", "100", "60", "40")
		m.extra[confPrefix+"root.b.maximum-capacity"] = of("maximum of b", "100", "50", "30")
	}
	m.plan(&input.SetQueues{Properties: m.properties()})
}

// served says to what a pass on a node of a fork gives the node first.
type served struct {
	app      state.AppSlot
	key      yarn.SchedulerKey
	reserved bool // it gets a reservation
}

// explainWalk checks the explanations of one state.
type explainWalk struct {
	m      *machine
	st     *state.State
	now    int64
	first  map[state.NodeSlot]served // by node; without the nodes that give nothing
	counts map[string]int
}

func (m *machine) checkExplanations(counts map[string]int) {
	if m.p.Config() == nil {
		return
	}
	w := &explainWalk{m: m, st: m.p.st.Fork(), now: m.now, counts: counts}
	w.first = w.firsts(w.st)
	sched := must(scheduler.New(w.st, m.opt.Eager))
	before := w.st.Digest()
	counts["clusters"]++
	for _, id := range m.apps {
		slot := w.st.Apps.ByID(id)
		if slot == 0 || w.st.Apps.Get(slot).State.Ended() {
			continue
		}
		x, err := explain.Application(sched, id)
		if err != nil {
			m.fail("%v", err)
		}
		w.application(slot, x)
	}
	if w.st.Digest() != before {
		m.fail("an explanation changed the state")
	}
}

// claims counts a claim.
func (w *explainWalk) claims(what string) { w.counts[what]++ }

func (w *explainWalk) fail(x *explain.Explanation, format string, args ...any) {
	w.m.fail("%s is told %s: %s\n%s\n%+v", x.ID, x.Reason, x.Text, fmt.Sprintf(format, args...), *x)
}

// planner returns a planner on a fork of a state.
func (w *explainWalk) planner(st *state.State) *Planner { return must(New(st.Fork(), w.m.opt)) }

// firsts sends the heartbeat of each node to a fork of its own.
func (w *explainWalk) firsts(st *state.State) map[state.NodeSlot]served {
	out := map[state.NodeSlot]served{}
	st.Nodes.Each(func(node state.NodeSlot, n *state.Node) bool {
		if n.TakesContainers() {
			p := w.planner(st)
			p.sched.Begin(w.now)
			p.sched.HeartbeatPass(node)
			for _, e := range p.sched.Events() {
				if s, ok := servedBy(st, e); ok {
					out[node] = s
					break
				}
			}
		}
		return true
	})
	return out
}

// servedBy returns what an event gives. The state is the one before the event.
func servedBy(st *state.State, e event.Event) (served, bool) {
	switch e := e.(type) {
	case *event.ContainerAllocated:
		return served{st.Apps.Find(e.App), e.Key, false}, true
	case *event.ContainerLent:
		return served{st.Apps.Find(e.App), e.Key, false}, true
	case *event.GangStarted:
		return served{st.Apps.Find(e.App), st.Gangs.Get(st.Apps.Find(e.App)).Key, false}, true
	case *event.ContainerIncreased:
		slot := st.Container(e.Container)
		return served{st.Apps.Find(e.Container.App), st.Containers.Get(slot).Key, false}, true
	case *event.ReservationFulfilled:
		r := st.Reservations.Get(st.Reservations.Find(e.Reservation))
		return served{r.App, r.Key, false}, true
	case *event.ReservationMade:
		return served{st.Apps.Find(e.App), e.Key, true}, true
	case *event.GangReserved:
		return served{st.Apps.Find(e.App), st.Gangs.Get(st.Apps.Find(e.App)).Key, true}, true
	}
	return served{}, false
}

// servesAsk reports whether some pass gives a node to an ask first.
func servesAsk(first map[state.NodeSlot]served, app state.AppSlot, key yarn.SchedulerKey) bool {
	for _, s := range first {
		if s.app == app && s.key == key && !s.reserved {
			return true
		}
	}
	return false
}

// firstAsk returns an application's first outstanding ask.
func firstAsk(st *state.State, app state.AppSlot) (state.AskSlot, *state.Ask) {
	for ask, k := range st.Asks.Of(st.Apps.Get(app)) {
		if k.Count > 0 {
			return ask, k
		}
	}
	return 0, nil
}

func (w *explainWalk) application(slot state.AppSlot, x *explain.Explanation) {
	a := w.st.Apps.Get(slot)
	w.claims("reason " + x.Reason)
	switch {
	case a.AttemptState == state.AttemptNonRunnable || a.AttemptState == state.AttemptPending:
		w.waitsForStart(slot, a, x)
	case a.Activated() && a.Outstanding > 0:
		n := 0
		for ask, k := range w.st.Asks.Of(a) {
			if k.Count > 0 && n < len(x.Asks) && x.Asks[n].Reason != "" {
				w.ask(x, ask, k, x.Asks[n].Reason, x.Asks[n].Text, x.Asks[n].Never)
				n++
			}
		}
		ask, k := firstAsk(w.st, slot)
		w.ask(x, ask, k, x.Reason, x.Text, x.Never)
		w.nodes(x, ask, k)
		w.limits(x, slot, k)
		w.mustEnd(x, k)
	}
	for _, alt := range x.WhatIf {
		w.alternative(slot, x, alt)
	}
}

// ask checks the reason of one ask.
func (w *explainWalk) ask(x *explain.Explanation, ask state.AskSlot, k *state.Ask, reason, text string, never bool) {
	serves := servesAsk(w.first, k.App, k.Key)
	if k.IncreaseOf != 0 || w.sameKey(k) > 1 {
		return // passes do not tell an ask for an increase from others under its key
	}
	if serves != (reason == scheduler.NextPass.String()) {
		w.fail(x, "of the ask %v it says %s (%s), and passes serve it first: %v (%+v)", k.Key, reason, text, serves, w.first)
	}
	if never {
		w.claims("never")
		w.neverStarts(x, k)
	}
	leaf := func(app state.AppSlot) state.QueueSlot { return w.st.Apps.Get(app).Queue }
	first := func(is func(s served) bool) bool {
		for node, n := range w.first {
			if is(n) && w.mayUse(k, w.st.Nodes.Get(node)) {
				return true
			}
		}
		return false
	}
	nothing := w.nothingFirst()
	switch reason {
	case scheduler.BehindQueue.String():
		if !nothing && !first(func(s served) bool { return leaf(s.app) != leaf(k.App) }) {
			w.fail(x, "no other queue is served first: %+v", w.first)
		}
	case scheduler.BehindFIFO.String():
		if !nothing && !first(func(s served) bool { return s.app != k.App }) {
			w.fail(x, "no other application is served first: %+v", w.first)
		}
	case scheduler.NodeReservedByOther.String():
		if !w.reserved(func(app state.AppSlot) bool { return app != k.App }) {
			w.fail(x, "no node is reserved for another application")
		}
	case scheduler.HoldsReservations.String():
		if k.Reservations == 0 {
			w.fail(x, "it has no reservation")
		}
	case scheduler.ReservedElsewhere.String():
		w.withoutReservations(x, k)
	case scheduler.QueueMaxCapacity.String(), scheduler.ParentMaxCapacity.String():
		w.withoutMaxima(x, k, reason)
	}
}

// sameKey counts the asks under the key of an ask.
func (w *explainWalk) sameKey(k *state.Ask) (n int) {
	for _, o := range w.st.Asks.Of(w.st.Apps.Get(k.App)) {
		if o.Key == k.Key {
			n++
		}
	}
	return n
}

// nothingFirst reports whether the pass on some node gives nothing.
func (w *explainWalk) nothingFirst() (nothing bool) {
	w.st.Nodes.Each(func(node state.NodeSlot, n *state.Node) bool {
		if _, some := w.first[node]; n.TakesContainers() && !some {
			nothing = true
		}
		return true
	})
	return nothing
}

func (w *explainWalk) reserved(by func(app state.AppSlot) bool) (is bool) {
	w.st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool { is = is || by(r.App); return true })
	return is
}

// mayUse reports whether an ask may use a node, by its places and label.
func (w *explainWalk) mayUse(k *state.Ask, n *state.Node) bool {
	if k.IncreaseOf != 0 && w.st.Nodes.Get(w.st.Containers.Get(k.IncreaseOf).Node) != n {
		return false
	}
	if k.Label != n.Label {
		label := w.st.Labels.Get(max(n.Label, 1))
		if k.Label != 0 || n.Label == 0 || !label.Listed || label.Exclusive || k.AM {
			return false
		}
	}
	rack := w.st.Location(k, n.RackID)
	switch {
	case k.IncreaseOf != 0:
		return true
	case w.st.Location(k, n.Host) != 0:
		return true
	case rack != 0:
		return w.st.Locations.Get(rack).Relax
	}
	return k.Relax
}

// nodes counts the nodes with each reason.
func (w *explainWalk) nodes(x *explain.Explanation, ask state.AskSlot, k *state.Ask) {
	calc, a := w.m.p.Config().Calculator, w.st.Apps.Get(k.App)
	want := map[string]int{}
	lends := false
	for _, q := range w.m.p.Config().Queues {
		lends = lends || q.Backfill != capacity.BackfillOff
	}
	room := 0
	w.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if !n.Serving() || !w.mayUse(k, n) {
			return true
		}
		if n.Reservation != 0 {
			r := w.st.Reservations.Get(n.Reservation)
			switch own := r.App == k.App && r.Key == k.Key && r.IncreaseOf == k.IncreaseOf; {
			case own:
			case r.App == k.App:
				want[scheduler.BehindOtherAsk.String()]++
				return true
			default:
				want[scheduler.NodeReservedByOther.String()]++
				return true
			}
		}
		switch {
		case a.Blacklisted(n):
			want[scheduler.Blacklisted.String()]++
		case !calc.FitsIn(k.Size, n.Total):
			want[scheduler.NodeTooSmall.String()]++
		case !calc.FitsIn(k.Size, n.Unallocated()),
			n.Reservation == 0 && !calc.HasRoom(n.Unallocated(), w.m.p.Config().MinAlloc):
			want[scheduler.NodeTooSmallFree.String()]++
		default:
			room++
		}
		return true
	})
	got := map[string]int{}
	rest := 0
	for _, g := range x.Nodes {
		if g.Count <= 0 || w.st.Nodes.Find(must(yarn.ParseNodeID(g.Example))) == 0 {
			w.fail(x, "a group of nodes is %+v", g)
		}
		switch g.Reason {
		case scheduler.BehindOtherAsk.String(), scheduler.NodeReservedByOther.String(), scheduler.Blacklisted.String(),
			scheduler.NodeTooSmall.String(), scheduler.NodeTooSmallFree.String():
			got[g.Reason] = g.Count
		case scheduler.OtherLabel.String():
		default:
			rest += g.Count
		}
	}
	w.claims("numbers of nodes")
	if lends { // lent nodes have their own reasons
		return
	}
	if !maps.Equal(got, want) || rest != room {
		w.fail(x, "the nodes are %v and %d with room", want, room)
	}
}

// limits compares the use that limits name with the sum over containers and reservations.
func (w *explainWalk) limits(x *explain.Explanation, slot state.AppSlot, k *state.Ask) {
	a := w.st.Apps.Get(slot)
	for _, l := range x.Limits {
		path, of := strings.CutPrefix(l.Name, "maximum of ")
		path, _, _ = strings.Cut(path, " ")
		var used yarn.Resource
		w.st.Apps.Each(func(_ state.AppSlot, o *state.App) bool {
			queue := w.st.Queues.Get(o.Queue).Path
			mine := of && (queue == path || strings.HasPrefix(queue, path+"."))
			if !of {
				mine = o.UserSlot == a.UserSlot
			}
			if !mine {
				return true
			}
			for _, c := range w.st.Containers.Of(o) {
				if c.State.Live() && w.st.Nodes.Get(c.Node).Label == k.Label {
					used = used.Add(c.Size)
				}
			}
			for _, r := range w.st.Reservations.Of(o) {
				if w.st.Nodes.Get(r.Node).Label == k.Label {
					used = used.Add(r.Size)
				}
			}
			return true
		})
		w.claims("use of limits")
		for i, kind := range w.m.p.Config().Kinds {
			if l.UsedAmount[kind] != used[i] {
				w.fail(x, "%s: used %v, want %v", l.Name, l.UsedAmount, used)
			}
		}
	}
}

// mustEnd ends the containers that must end.
func (w *explainWalk) mustEnd(x *explain.Explanation, k *state.Ask) {
	if x.MustEnd == nil {
		return
	}
	w.claims("containers that must end")
	n := w.st.Nodes.Get(w.st.Nodes.Find(must(yarn.ParseNodeID(x.MustEnd.Node))))
	calc, free := w.m.p.Config().Calculator, n.Unallocated()
	var sizes []yarn.Resource
	for _, c := range w.st.Containers.On(n) {
		if slices.Contains(x.MustEnd.Containers, w.st.Apps.ContainerID(c).String()) {
			sizes = append(sizes, c.Size)
			free = free.Add(c.Size)
		}
	}
	if len(sizes) != len(x.MustEnd.Containers) || len(sizes) == 0 || !calc.FitsIn(k.Size, free) {
		w.fail(x, "after the end of %v the node has %v", x.MustEnd.Containers, free)
	}
	for _, size := range sizes {
		if calc.FitsIn(k.Size, free.Sub(size)) {
			w.fail(x, "%v need not end", size)
		}
	}
}

// neverStarts brings all nodes back, ends everything else, and offers each node some times.
func (w *explainWalk) neverStarts(x *explain.Explanation, k *state.Ask) {
	p := w.planner(w.st)
	now := w.now
	plan := func(in input.Input) { now += 10; p.Plan(now, input.Request{Input: in}) }
	app := w.st.Apps.Get(k.App)
	w.st.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		if slot != k.App && !a.State.Ended() {
			plan(&input.KillApplication{ID: a.ID})
		}
		return true
	})
	var ids []yarn.NodeID
	w.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.State != yarn.NodeDecommissioned && n.State != yarn.NodeShutdown {
			ids = append(ids, n.ID)
		}
		return true
	})
	for _, id := range ids {
		n := *w.st.Nodes.Get(w.st.Nodes.Find(id))
		plan(&input.DrainNode{ID: id, Back: true})
		plan(&input.RegisterNode{ID: id, Rack: n.Rack, Total: n.Total})
	}
	before := p.st.Apps.Get(k.App).NextNumber
	for range 3 {
		for _, id := range ids {
			for _, c := range containersOn(p, p.st.Nodes.Find(id)) {
				if c := p.st.Containers.Get(c); !c.AM || c.App != k.App {
					plan(&input.NodeHeartbeat{ID: id, Full: true})
				}
			}
			now += 10
			_, events := p.Plan(now, input.Request{Input: &input.NodesHeard{Nodes: []state.NodeSlot{p.st.Nodes.Find(id)}}})
			for _, e := range events {
				if s, ok := servedBy(w.st, e); ok && !s.reserved && s.app == k.App && s.key == k.Key &&
					p.st.Apps.Find(app.ID.Seq) == k.App {
					w.fail(x, "it starts when all nodes are empty and serve: %+v (had %d)", e, before)
				}
			}
		}
	}
}

// withoutReservations cancels all reservations. Then they cannot be the reason any more.
func (w *explainWalk) withoutReservations(x *explain.Explanation, k *state.Ask) {
	p := w.planner(w.st)
	p.sched.Begin(w.now)
	if w.st.Reservations.Len() == 0 {
		w.fail(x, "there are no reservations")
	}
	w.cancel(p, func(state.AppSlot) bool { return true })
	w.claims("without reservations")
	y := must(explain.Application(must(scheduler.New(p.st, w.m.opt.Eager)), w.st.Apps.Get(k.App).ID))
	if y.Reason == scheduler.ReservedElsewhere.String() {
		w.fail(x, "without any reservation it is told the same")
	}
}

// cancel cancels the reservations of applications.
func (w *explainWalk) cancel(p *Planner, of func(app state.AppSlot) bool) {
	var numbers []uint64
	p.st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		if of(r.App) {
			numbers = append(numbers, r.Number)
		}
		return true
	})
	for _, n := range numbers {
		p.sched.CancelReservation(n)
	}
}

// withoutMaxima lifts the maxima of all queues. Then they cannot be the reason any more.
func (w *explainWalk) withoutMaxima(x *explain.Explanation, k *state.Ask, reason string) {
	st := w.unlimited(k.App)
	if st == nil {
		return
	}
	w.claims("without maxima")
	slot := st.Apps.Find(w.st.Apps.Get(k.App).ID.Seq)
	y := must(explain.Application(must(scheduler.New(st, w.m.opt.Eager)), w.st.Apps.Get(k.App).ID))
	for _, o := range y.Asks {
		if o.Priority == k.Key.Priority && o.Reason == reason && st.Apps.Get(slot).Outstanding > 0 && !w.rootFull(st, k) {
			w.fail(x, "without any maximum it is told the same: %+v", y)
		}
	}
}

// rootFull reports whether the containers and reservations leave root too little room for an ask.
func (w *explainWalk) rootFull(st *state.State, k *state.Ask) bool {
	return !w.m.p.Config().Calculator.FitsIn(st.QueueUse(st.Queues.Root(), k.Label).Used.Add(k.Size),
		st.PartitionTotal(k.Label))
}

// unlimited returns a fork in which the queues of an application have no maximum, or nil if the tree
// has absolute ones.
func (w *explainWalk) unlimited(app state.AppSlot) *state.State {
	if w.m.labelled || strings.Contains(strings.Join(w.m.tree(), " "), "[") {
		return nil
	}
	p := w.planner(w.st)
	path := w.st.Queues.Get(w.st.Apps.Get(app).Queue).Path
	props := slices.DeleteFunc(w.m.properties(), func(q input.Property) bool {
		queue, is := strings.CutSuffix(strings.TrimPrefix(q.Name, confPrefix), ".maximum-capacity")
		return is && (path == queue || strings.HasPrefix(path, queue+"."))
	})
	p.sched.Begin(w.now)
	if f := p.queues.set(&input.SetQueues{Properties: props}).Refused(); f != nil {
		return nil
	}
	return p.st
}

// waitsForStart checks why an application is not activated or may not run.
func (w *explainWalk) waitsForStart(slot state.AppSlot, a *state.App, x *explain.Explanation) {
	p := w.planner(w.st)
	p.sched.Begin(w.now)
	if a.AttemptState == state.AttemptPending {
		if w.st.Meta.Cluster.IsZero() {
			return
		}
		w.amLimits(a, x)
		p.sched.Activate(p.sched.LeafOf(a))
		now, waits := p.st.Apps.Get(slot).Activated(), x.Reason == scheduler.NextPass.String()
		if waits && !now || now && x.Reason != scheduler.NextPass.String() && x.Reason != scheduler.BehindFIFO.String() {
			w.fail(x, "it is activated now: %v", now)
		}
		return
	}
	p.sched.StartNonRunnable()
	if p.st.Apps.Get(slot).AttemptState != state.AttemptNonRunnable && !strings.HasPrefix(x.Text, "no limit on parallel") {
		w.fail(x, "it may run now")
	}
}

// amLimits compares the verdict of each limit on AMs with its own amounts.
func (w *explainWalk) amLimits(a *state.App, x *explain.Explanation) {
	calc := w.m.p.Config().Calculator
	amount := func(of explain.Amount) (r yarn.Resource) {
		for i, kind := range w.m.p.Config().Kinds {
			r[i] = of[kind]
		}
		return r
	}
	for _, l := range x.Limits {
		// the first AM of a queue has no limit
		limited := !a.Unmanaged && w.st.Queues.Get(a.Queue).ActiveApps > 0 &&
			calc.AnyAboveZero(amount(x.Limits[0].UsedAmount))
		w.claims(fmt.Sprintf("AM limit binds: %v", l.Binds))
		if want := limited && !calc.FitsIn(amount(l.UsedAmount).Add(a.AM), amount(l.MostAmount)); l.Binds != want {
			w.fail(x, "%s: %v, want %v", l.Name, l.Binds, want)
		}
	}
}

// alternative does what an alternative supposes.
func (w *explainWalk) alternative(slot state.AppSlot, x *explain.Explanation, alt explain.Alternative) {
	p := w.planner(w.st)
	p.sched.Begin(w.now)
	ask, k := firstAsk(w.st, slot)
	a := w.st.Apps.Get(slot)
	apply := func(e event.Event) {
		if err := p.sched.Apply(e); err != nil {
			w.fail(x, "%s: %v", alt.If, err)
		}
	}
	w.claims("if " + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, alt.If) + fmt.Sprintf(": %v", alt.Now))
	switch {
	case alt.If == "no node were reserved for others":
		w.cancel(p, func(app state.AppSlot) bool { return app != slot })
	case alt.If == "it had no blacklist":
		var names []string
		for _, id := range a.Blacklist {
			names = append(names, w.st.Names.Text(id))
		}
		apply(&event.BlacklistChanged{App: a.ID.Seq, Remove: names})
	case alt.If == "the silent nodes sent heartbeats":
		w.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
			if n.Silent() && n.Heard() {
				apply(&event.NodeSilenceChanged{Node: slot})
			}
			return true
		})
	case alt.If == "AMs had no limit":
		apply(&event.AttemptActivated{App: a.ID.Seq})
		if a.Unmanaged {
			return
		}
	case alt.If == "its queues had no maximum":
		st := w.unlimited(slot)
		if st == nil {
			return
		}
		p = w.planner(st)
	case strings.HasPrefix(alt.If, "it asked "):
		w.resize(p, ask, k, strings.TrimSuffix(strings.TrimPrefix(alt.If, "it asked "), " instead"))
	default:
		return
	}
	first := w.firsts(p.st)
	if serves := servesAsk(first, slot, k.Key); serves != alt.Now && w.sameKey(k) == 1 && k.IncreaseOf == 0 {
		y := must(explain.Application(must(scheduler.New(p.st.Fork(), w.m.opt.Eager)), a.ID))
		w.fail(x, "if %s, passes serve it first: %v (%+v); then it is told\n%+v", alt.If, serves, first, *y)
	}
}

// resize changes the size of an ask to the one that a text says.
func (w *explainWalk) resize(p *Planner, ask state.AskSlot, k *state.Ask, text string) {
	var size yarn.Resource
	kinds := w.m.p.Config().Kinds
	for _, part := range strings.Split(text, " · ") {
		var n float64
		var unit string
		if _, err := fmt.Sscanf(part, "%g %s", &n, &unit); err != nil {
			w.m.fail("%q: %v", text, err)
		}
		switch unit {
		case "GiB":
			size[yarn.Memory] = int64(n * 1024)
		case "MiB":
			size[yarn.Memory] = int64(n)
		case "vc":
			size[yarn.VCores] = int64(n)
		default:
			for i, kind := range kinds {
				if yarn.ShortKind(kind) == unit || kind == unit {
					size[i] = int64(n)
				}
			}
		}
	}
	if kinds.Format(size) != text {
		w.m.fail("%q was read as %v", text, size)
	}
	p.sched.Resize(ask, size)
}
