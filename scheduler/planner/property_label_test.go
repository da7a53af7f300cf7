package planner

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestLabelsAtRandom lets applications ask for labels while nodes come, go and get other labels. After
// every step the state agrees with itself, the scheduler's views are those that it would derive again,
// each container was granted on a node of the label that was asked, and no grant took a queue over
// its maximum of the label.
func TestLabelsAtRandom(tb *testing.T) {
	rapid.Check(tb, func(t *rapid.T) {
		w := newWorld(drawn{tb, t})
		w.tellAll(`conf queues=(a:60, b:40) yarn.node-labels.enabled=true a.user-limit-factor=3 a.queues=p,q a.p.capacity=50 a.q.capacity=50 a.accessible-node-labels=x,y a.accessible-node-labels.x.capacity=100 a.accessible-node-labels.y.capacity=50 b.accessible-node-labels=y b.accessible-node-labels.y.capacity=50 a.p.accessible-node-labels.x.capacity=30 a.q.accessible-node-labels.x.capacity=70 a.p.accessible-node-labels.x.maximum-capacity=60 a.p.accessible-node-labels.y.capacity=100
label add x y
node add n0 8G
node add n1 8G
node add n2 8G
node add n3 8G
label nodes n0=x n1=y
app app0 user=u0 queue=p
app app1 user=u1 queue=q
app app2 user=u0 queue=b
app app3 user=u1 queue=p`)
		if rapid.Bool().Draw(t, "eager") {
			w.tellAll("mode eager")
		}
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			w.randomLabelStep(t)
			w.checkLabels(t)
		}
	})
}

// drawn is a test whose failures are those of the steps drawn.
type drawn struct {
	testing.TB
	steps *rapid.T
}

func (d drawn) Fatal(args ...any)                 { d.steps.Fatal(args...) }
func (d drawn) Fatalf(format string, args ...any) { d.steps.Fatalf(format, args...) }
func (d drawn) Errorf(format string, args ...any) { d.steps.Errorf(format, args...) }

func (w *world) randomLabelStep(t *rapid.T) {
	label := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "label")
	node := fmt.Sprintf("n%d", rapid.IntRange(0, 3).Draw(t, "node"))
	slot, app := w.app(fmt.Sprintf("app%d", rapid.IntRange(0, 3).Draw(t, "app")))
	key := rapid.IntRange(1, 3).Draw(t, "key")
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0, 1, 2, 3:
		w.plan(&input.NodeHeartbeat{ID: w.nodes[node]})
	case 4, 5:
		count, size := rapid.Int64Range(0, 5).Draw(t, "count"), rapid.Int64Range(1, 5).Draw(t, "size")
		k := parseAsk(fmt.Sprintf("%dx%dG@%d", count, size, key), true)
		k.Label = rapid.SampledFrom([]string{"", "x", "y", yarn.NoLabel, "none there"}).Draw(t, "asked")
		w.plan(&input.Allocate{Attempt: app.AttemptID(), Response: app.Response, Asks: []input.Ask{k}})
	case 6, 7:
		k := yarn.SchedulerKey{Priority: int32(key)}
		if ask := w.p.st.Ask(app, k); ask != 0 && w.p.st.Asks.Get(ask).Reservations == 0 {
			w.direct(func(p *Planner) { p.sched.Emit(&event.AskLabelled{App: app.ID.Seq, Key: k, Label: label}) })
		}
	case 8:
		w.plan(&input.LabelNodes{Nodes: []input.LabelledNode{{ID: yarn.NodeID{Host: node}, Labels: []string{label}}}})
	case 9, 10:
		w.direct(func(p *Planner) {
			for c := range p.st.ContainersOf(p.st.Apps.Get(slot)) {
				if k := p.st.Containers.Get(c); k.State.Live() {
					p.complete(p.st.Ref(k), 0, "")
					return
				}
			}
		})
	case 11:
		if rapid.Bool().Draw(t, "lost") {
			w.plan(&input.ExpireNode{ID: w.nodes[node]})
		} else {
			w.plan(&input.RegisterNode{ID: w.nodes[node], Rack: "rack", Total: parseSize("8G"), Containers: w.running(w.nodes[node])})
		}
	}
}

func (w *world) checkLabels(t *rapid.T) {
	if err := w.p.st.Check(); err != nil {
		t.Fatal(err)
	}
	w.sameViews()
	for _, e := range w.events {
		g, ok := e.(*event.ContainerAllocated)
		if !ok {
			continue
		}
		n := w.p.st.Nodes.Get(g.Node)
		if c := w.p.st.Container(event.ContainerRef{App: g.App, Attempt: 1, Number: g.Number}); c != 0 && w.p.st.AskedLabel(c) != n.Label {
			t.Fatalf("a container that asked for %q is on %s of %q", w.p.st.LabelName(w.p.st.AskedLabel(c)), n.ID, w.p.st.LabelName(n.Label))
		}
		w.checkMaximum(t, w.p.st.Apps.Get(w.p.st.App(g.App)), n.Label)
	}
}

// checkMaximum holds every queue of an application that was just served to its maximum of a label.
func (w *world) checkMaximum(t *rapid.T, a *state.App, label state.LabelID) {
	cfg, total := w.p.Config(), w.p.st.Meta.Cluster
	if label != 0 {
		cfg, total = cfg.Partition(w.p.st.LabelName(label)), w.p.st.Labels.Get(uint32(label)).Total
	} else {
		w.p.st.Labels.Each(func(_ uint32, l *state.Label) bool { total = total.Sub(l.Total); return true })
	}
	tree := cfg.Compute(total)
	for i := int(w.p.sched.LeafOf(a)); i >= 0; i = cfg.Queues[i].Parent {
		used := w.p.st.QueueUse(w.p.st.Queue(cfg.Queues[i].Path), label).Used
		if !cfg.Calculator.FitsIn(used, tree.Capacities[i].EffMax) {
			t.Fatalf("%s uses %s of label %q, it may use %s", cfg.Queues[i].Path, used, w.p.st.LabelName(label), tree.Capacities[i].EffMax)
		}
	}
}
