package planner

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestLabelsAtRandom lets applications ask for labels while nodes come, go and change their label,
// and while labels switch between exclusive and shared. After every step the state must be
// consistent, the scheduler's views must equal freshly derived ones, and every grant must have
// obeyed the rules of labelWalk.
func TestLabelsAtRandom(tb *testing.T) {
	tb.Parallel()
	rapid.Check(tb, func(t *rapid.T) {
		w := newWorld(drawn{tb, t})
		w.tellAll(`conf queues=(a:60, b:40) yarn.node-labels.enabled=true a.q.maximum-am-resource-percent=0.2 a.user-limit-factor=3 a.queues=p,q a.p.capacity=50 a.q.capacity=50 a.accessible-node-labels=x,y a.accessible-node-labels.x.capacity=100 a.accessible-node-labels.y.capacity=50 b.accessible-node-labels=y b.accessible-node-labels.y.capacity=50 a.p.accessible-node-labels.x.capacity=30 a.q.accessible-node-labels.x.capacity=70 a.p.accessible-node-labels.x.maximum-capacity=60 a.p.accessible-node-labels.y.capacity=100
label add x y
node add n0 8G
node add n1 8G
node add n2 8G
node add n3 8G
label nodes n0=x n1=y
app app0 user=u0 queue=p
app app1 user=u1 queue=q
app app2 user=u0 queue=b
app app3 user=u1 queue=p
app app4 user=u1 queue=q am=1G`)
		if rapid.Bool().Draw(t, "eager") {
			w.tellAll("mode eager")
		}
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			before := w.p.st.Fork()
			w.events = nil
			w.randomLabelStep(t)
			w.checkLabels(t, before)
		}
	})
}

// drawn is a testing.TB that reports failures to rapid, so that rapid can shrink the steps.
type drawn struct {
	testing.TB
	steps *rapid.T
}

func (d drawn) Fatal(args ...any)                 { d.steps.Fatal(args...) }
func (d drawn) Fatalf(format string, args ...any) { d.steps.Fatalf(format, args...) }
func (d drawn) Errorf(format string, args ...any) { d.steps.Errorf(format, args...) }

func (w *world) randomLabelStep(t *rapid.T) {
	label := rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "label")
	node := fmt.Sprintf("n%d", rapid.IntRange(0, 3).Draw(t, "node"))
	slot, app := w.app(fmt.Sprintf("app%d", rapid.IntRange(0, 4).Draw(t, "app")))
	key := rapid.IntRange(1, 3).Draw(t, "key")
	switch rapid.IntRange(0, 13).Draw(t, "what") {
	case 0, 1, 2, 3:
		w.plan(&input.NodeHeartbeat{ID: w.nodes[node]})
	case 4, 5:
		count, size := rapid.Int64Range(0, 5).Draw(t, "count"), rapid.Int64Range(1, 5).Draw(t, "size")
		k := parseAsk(fmt.Sprintf("%dx%dG@%d", count, size, key), true)
		k.Label = rapid.SampledFrom([]string{"", "x", "y", yarn.NoLabel, "none there"}).Draw(t, "asked")
		w.plan(&input.Allocate{Attempt: app.AttemptID(), Response: app.Response, Asks: []input.Ask{k}})
	case 6, 7:
		k := yarn.SchedulerKey{Priority: int32(key)}
		if ask := w.p.st.Asks.Find(app, k); ask != 0 && w.p.st.Asks.Get(ask).Reservations == 0 && label != "z" {
			w.direct(func(p *Planner) { p.sched.Emit(&event.AskLabelled{App: app.ID.Seq, Key: k, Label: label}) })
		}
	case 8:
		w.plan(&input.LabelNodes{Nodes: []input.LabelledNode{{ID: yarn.NodeID{Host: node}, Labels: []string{label}}}})
	case 9, 10:
		w.direct(func(p *Planner) {
			for c := range p.st.Containers.Of(p.st.Apps.Get(slot)) {
				if k := p.st.Containers.Get(c); k.State.Live() {
					p.ends.Complete(p.st.Apps.Ref(k), 0, "")
					return
				}
			}
		})
	case 11:
		name := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name")
		if name == "z" && rapid.Bool().Draw(t, "removed") { // no queue names it
			w.plan(&input.RemoveLabels{Names: []string{name}})
			return
		}
		w.plan(&input.SetLabels{Labels: []input.Label{{Name: name, Exclusive: rapid.Bool().Draw(t, "exclusive")}},
			Change: true})
	case 12:
		w.plan(&input.SubmitApplication{Name: "more", User: "u0",
			Queue: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "queue"), AM: parseSize("1G"), AMLabel: label, MaxAttempts: 2})
	case 13:
		if rapid.Bool().Draw(t, "lost") {
			w.plan(&input.ExpireNode{ID: w.nodes[node]})
		} else {
			w.plan(&input.RegisterNode{ID: w.nodes[node], Rack: "rack", Total: parseSize("8G"),
				Containers: w.running(w.nodes[node])})
		}
	}
}

func (w *world) checkLabels(t *rapid.T, before *state.State) {
	if err := w.p.st.Check(); err != nil {
		t.Fatal(err)
	}
	w.sameViews()
	walk := labelWalk{fail: t.Fatalf, st: before, pre: before, cfg: w.p.Config()}
	for _, e := range w.events {
		walk.step(e)
	}
	w.p.st.Labels.Each(func(slot state.LabelSlot, l *state.Label) bool {
		cfg := w.p.Config().Partition(l.Name)
		if err := checkCapacities(cfg, cfg.Compute(l.Total)); err != nil {
			t.Fatalf("label %s: %v", l.Name, err)
		}
		return true
	})
}

// labelWalk applies events one by one and checks each grant against the rules of labels. An ask
// gets only nodes of its label, through queues that may use the label, within the queues' maxima
// and the user's limit for that label. An AM starts within the AM share of its label. An ask
// without a label that has missed enough offers may also get nodes of shared labels, within their
// total; an AM may not.
type labelWalk struct {
	fail func(format string, args ...any)
	st   *state.State
	pre  *state.State // the state before an exchange's cancellation, else st
	cfg  *capacity.Config
	// asked returns what preemption has asked to end in a queue. Nil means nothing.
	asked func(queue state.QueueSlot) yarn.Resource
}

func (w *labelWalk) step(e event.Event) {
	st := w.st
	ask := func(app uint32, key yarn.SchedulerKey) *state.Ask {
		return st.Asks.Get(st.Asks.Find(st.Apps.Get(st.Apps.Find(app)), key))
	}
	exchanged := false
	switch e := e.(type) {
	case *event.ReservationCancelled:
		exchanged = e.Cause == yarn.CancelExchanged
	case *event.ContainerAllocated:
		w.granted(ask(e.App, e.Key), st.Nodes.Get(e.Node))
	case *event.ReservationMade:
		w.granted(ask(e.App, e.Key), st.Nodes.Get(e.Node))
	case *event.ReservationFulfilled:
		r := st.Reservations.Get(st.Reservations.Find(e.Reservation))
		w.mayUse(ask(st.Apps.Get(r.App).ID.Seq, r.Key), st.Nodes.Get(r.Node))
	case *event.AskMissesUpdated:
		w.missed(ask(e.App, e.Key), e.Missed)
	}
	if exchanged {
		w.pre = st.Fork()
	}
	if err := st.Apply(e); err != nil {
		w.fail("an event does not follow: %v", err)
	}
	if !exchanged {
		w.pre = st
	}
	if e, ok := e.(*event.AttemptActivated); ok {
		w.activated(st.Apps.Get(st.Apps.Find(e.App)))
	}
}

// missed checks that missed offers count only for asks that may borrow, and at most up to the
// number of usable nodes.
func (w *labelWalk) missed(k *state.Ask, missed uint32) {
	if k.Label != 0 || k.AM || int32(missed) > w.st.Meta.UsableNodes {
		w.fail("%d missed offers count for %+v", missed, k)
	}
}

// activated is invariant 28: the AMs of a leaf stay within their share of a label, except that one
// AM may always start.
func (w *labelWalk) activated(a *state.App) {
	p := must(New(w.st.Fork(), Options{}))
	v := p.sched.In(a.AMLabel, false)
	used, limit := w.st.QueueUse(a.Queue, a.AMLabel).AMUsed, v.AMLimit(v.LeafOf(a))
	first := a.Unmanaged || used == a.AM || w.st.Queues.Get(a.Queue).ActiveApps == 1
	if !first && !w.cfg.Calculator.FitsIn(used, limit) {
		w.fail("28: the AMs of %s use %s of label %q, they may use %s", w.st.Queues.Get(a.Queue).Path, used,
			w.st.Labels.Name(a.AMLabel), limit)
	}
}

// mayUse checks that an ask may use a node, and reports whether the node is lent to it.
func (w *labelWalk) mayUse(k *state.Ask, n *state.Node) (lent bool) {
	lent = k.Label != n.Label
	if lent && (k.Label != 0 || k.AM || w.st.Labels.Get(n.Label).Exclusive) {
		w.fail("%s of %q serves an ask for %q, for an AM: %v", n.ID, w.st.Labels.Name(n.Label),
			w.st.Labels.Name(k.Label), k.AM)
	}
	return lent
}

// capacitiesOf computes the configuration and the capacities of a partition from the records alone.
func capacitiesOf(cfg *capacity.Config, st *state.State, label state.LabelSlot) (*capacity.Config, *capacity.Tree) {
	if label != 0 {
		cfg = cfg.Partition(st.Labels.Name(label))
		return cfg, cfg.Compute(st.Labels.Get(label).Total)
	}
	total := st.Meta.Cluster
	st.Labels.Each(func(_ state.LabelSlot, l *state.Label) bool { total = total.Sub(l.Total); return true })
	return cfg, cfg.Compute(total)
}

// awaiting sums the reservations of a queue and its descendants on nodes of a label that wait for
// warned containers. They do not count if the queue may use all nodes.
func (w *labelWalk) awaiting(queue state.QueueSlot, label state.LabelSlot) (sum yarn.Resource) {
	counted := map[uint64]bool{}
	w.st.Preemptions.Each(func(_ state.ContainerSlot, p *state.Preemption) bool {
		if p.Reservation == 0 || p.Cause == yarn.PreemptLease || counted[p.Reservation] {
			return true
		}
		counted[p.Reservation] = true
		r := w.st.Reservations.Get(w.st.Reservations.Find(p.Reservation))
		if w.st.Nodes.Get(r.Node).Label != label {
			return true
		}
		for q := w.st.Apps.Get(r.App).Queue; q != 0; q = w.st.Queues.Get(q).Parent {
			if q == queue {
				sum = sum.Add(r.Size)
			}
		}
		return true
	})
	return sum
}

// granted is invariants 24 to 26 in the partition of a node.
func (w *labelWalk) granted(k *state.Ask, n *state.Node) {
	lent, name := w.mayUse(k, n), w.st.Labels.Name(n.Label)
	if lent && k.IncreaseOf == 0 && int32(k.Missed)+1 < w.st.Meta.UsableNodes {
		w.fail("%s of %q is lent after %d missed offers, there are %d nodes", n.ID, name, k.Missed, w.st.Meta.UsableNodes)
	}
	cfg, tree := capacitiesOf(w.cfg, w.st, n.Label)
	a := w.st.Apps.Get(k.App)
	user, limit := w.st.UserUse(a.UserSlot, n.Label).Used, slowUserLimit(w.pre, cfg, tree, a, n.Label, lent)
	if cfg.Calculator.Compare(w.st.Meta.Cluster, user, limit) > 0 {
		w.fail("25, 26: the user of %s has %s of %s of label %q, and gets a node of it", a.ID, user, limit, name)
	}
	for i := must(cfg.Lookup(w.st.Queues.Get(a.Queue).Path)); i >= 0; i = cfg.Queues[i].Parent {
		path, most := cfg.Queues[i].Path, tree.Capacities[i].EffMax
		if lent {
			most = tree.Cluster
		} else if !cfg.Queues[i].MayUse(name) {
			w.fail("%s may not use %q, and gets a node of it", path, name)
		}
		queue := w.st.Queues.Find(path)
		used := w.st.QueueUse(queue, n.Label).Used.Add(k.Size)
		if cfg.Queues[i].Backfill != capacity.BackfillOff { // reserved room is not used yet
			used = used.Sub(w.st.QueueUse(queue, n.Label).Reserved)
		}
		if cfg.Calculator.FitsIn(tree.Cluster, most) && cfg.Calculator.FitsIn(used.Sub(w.awaiting(queue, n.Label)), most) {
			continue
		}
		if w.asked != nil {
			used = used.Sub(w.asked(queue))
		}
		if !cfg.Calculator.FitsIn(used, most) {
			w.fail("24: %s uses %s of label %q, it may use %s", path, used, name, most)
		}
	}
}
