package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/scheduler"
	"rmd/yarn"
)

// label add NAME … [shared] | label nodes NODE=NAME … | label ask APP PRIORITY NAME
//
// adds labels, not exclusive ones with shared; gives nodes labels, none without a name; and has what
// an application asks under a priority be for a label.
func doLabel(w *world, a args, out *strings.Builder) {
	switch a.need(0) {
	case "add":
		e := &event.LabelsSet{}
		for i := 1; a.word(i) != ""; i++ {
			if a.word(i) != "shared" {
				e.Labels = append(e.Labels, event.Label{Name: a.word(i), Exclusive: !a.has("shared")})
			}
		}
		w.direct(func(p *Planner) { p.sched.Emit(e) })
	case "nodes":
		e := &event.NodesLabelled{}
		for _, x := range a.list[1:] {
			e.Nodes = append(e.Nodes, event.LabelledNode{ID: yarn.NodeID{Host: x.Key}, Label: strings.Join(x.Vals, "")})
		}
		w.relabel(e)
	case "ask":
		_, app := w.app(a.need(1))
		priority := must(strconv.Atoi(a.need(2)))
		w.direct(func(p *Planner) {
			p.sched.Emit(&event.AskLabelled{App: app.ID.Seq, Key: yarn.SchedulerKey{Priority: int32(priority)}, Label: a.word(3)})
		})
	default:
		w.t.Fatalf("label %s?", a.need(0))
	}
	w.sameViews()
	w.show(out, reservationsOnly)
}

// relabel gives nodes labels after their reservations are cancelled.
func (w *world) relabel(e *event.NodesLabelled) {
	w.direct(func(p *Planner) {
		for _, n := range e.Nodes {
			slot := p.st.Node(yarn.NodeID{Host: n.ID.Host, Port: 1})
			if slot != 0 && p.st.Nodes.Get(slot).Reservation != 0 {
				r := p.st.Reservations.Get(p.st.Nodes.Get(slot).Reservation)
				p.sched.Emit(&event.ReservationCancelled{Reservation: r.Number, Cause: yarn.CancelNodeRelabelled})
			}
		}
		p.sched.Emit(e)
		p.sched.ActivateAll()
	})
}

// use LABEL QUEUE …: what queues have of a label's partition; "none" is the default one.
func doUse(w *world, a args, out *strings.Builder) {
	label := w.p.st.Label(strings.TrimSuffix(a.need(0), "none"))
	for i := 1; a.word(i) != ""; i++ {
		q := w.p.sched.Queue(int32(must(w.p.Config().Lookup(a.word(i)))))
		u := w.p.st.QueueUse(w.p.st.Queue(q.Path), label)
		fmt.Fprintf(out, "%s on %s %s/%s, pending %s\n", q.Path, a.need(0), w.size(u.Used), w.size(u.Reserved), w.size(u.Pending))
	}
	w.sameViews()
}

// sameViews holds what the scheduler has derived against what it would derive again from the state.
func (w *world) sameViews() {
	w.t.Helper()
	w.p.sched.Tree()
	fresh := must(scheduler.New(w.p.st.Fork(), w.eager))
	if differs := w.p.sched.Probe().ViewsDiffer(fresh); differs != "" {
		w.t.Fatalf("views: %s", differs)
	}
}
