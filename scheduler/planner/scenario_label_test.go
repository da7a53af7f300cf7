package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// label add NAME … [shared] | label exclusive NAME | label shared NAME | label remove NAME … |
// label nodes HOST=NAME … | label ask APP PRIORITY NAME
//
// adds labels, which are exclusive unless shared is given; changes whether a label is exclusive;
// removes labels; sets the label of the nodes of a host, or removes it if NAME is missing; sets the
// label of an application's ask.
func doLabel(w *world, a args, out *strings.Builder) {
	switch a.need(0) {
	case "add":
		in := &input.SetLabels{}
		for i := 1; a.word(i) != ""; i++ {
			if a.word(i) != "shared" {
				in.Labels = append(in.Labels, input.Label{Name: a.word(i), Exclusive: !a.has("shared")})
			}
		}
		w.refused(out, w.plan(in))
	case "exclusive", "shared":
		w.refused(out, w.plan(&input.SetLabels{Change: true,
			Labels: []input.Label{{Name: a.need(1), Exclusive: a.need(0) == "exclusive"}}}))
	case "remove":
		in := &input.RemoveLabels{}
		for i := 1; a.word(i) != ""; i++ {
			in.Names = append(in.Names, a.word(i))
		}
		w.refused(out, w.plan(in))
	case "nodes":
		in := &input.LabelNodes{}
		for _, x := range a.list[1:] {
			in.Nodes = append(in.Nodes, input.LabelledNode{ID: yarn.NodeID{Host: x.Key}, Labels: x.Vals})
		}
		w.refused(out, w.plan(in))
	case "ask":
		_, app := w.app(a.need(1))
		priority := must(strconv.Atoi(a.need(2)))
		w.direct(func(p *Planner) {
			p.sched.Emit(&event.AskLabelled{App: app.ID.Seq, Key: yarn.SchedulerKey{Priority: int32(priority)},
				Label: a.word(3)})
		})
	default:
		w.t.Fatalf("label %s?", a.need(0))
	}
	w.sameViews()
	w.show(out, reservationsOnly)
}

// use LABEL QUEUE …: shows the usage of queues in a partition. "none" is the default partition.
func doUse(w *world, a args, out *strings.Builder) {
	label := w.p.st.Labels.Find(strings.TrimSuffix(a.need(0), "none"))
	for i := 1; a.word(i) != ""; i++ {
		q := w.p.sched.Queue(int32(must(w.p.Config().Lookup(a.word(i)))))
		u := w.p.st.QueueUse(w.p.st.Queues.Find(q.Path), label)
		fmt.Fprintf(out, "%s on %s %s/%s, pending %s\n", q.Path, a.need(0), w.size(u.Used), w.size(u.Reserved),
			w.size(u.Pending))
	}
	w.sameViews()
}

// sameViews checks that the scheduler's views equal freshly derived ones.
func (w *world) sameViews() {
	w.t.Helper()
	w.p.sched.Tree()
	fresh := must(scheduler.New(w.p.st.Fork(), w.eager))
	if differs := w.p.sched.Differ(fresh.Views); differs != "" {
		w.t.Fatalf("views: %s", differs)
	}
}
