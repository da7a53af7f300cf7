package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/scheduler/input"
)

// idle [after=SECONDS]: the leader removes idle queues.
func doIdle(w *world, a args, out *strings.Builder) {
	seconds, _ := strconv.ParseInt(a.get("after", "0"), 10, 64)
	w.now += seconds * 1000
	w.plan(&input.RemoveIdleQueues{})
	for _, e := range w.events {
		if e, ok := e.(*event.QueuesRemoved); ok {
			fmt.Fprintf(out, "removed %s\n", strings.Join(e.Paths, " "))
		}
	}
	w.sameViews()
}

// manage: the monitor of managed parents runs.
func doManage(w *world, _ args, out *strings.Builder) {
	w.plan(&input.ManageQueues{})
	w.tellActive(out)
	w.sameViews()
}

// tellActive prints the leaves of managed parents that became active or inactive.
func (w *world) tellActive(out *strings.Builder) {
	for _, e := range w.events {
		if e, ok := e.(*event.QueuesActivated); ok {
			fmt.Fprintf(out, "active %q, no longer %q\n", e.Active, e.Inactive)
		}
	}
}

// refresh KEY=VALUE … [dry]: changes the configuration and prints the warnings about dynamic
// queues. The value "-" leaves the key out.
func doRefresh(w *world, a args, out *strings.Builder) {
	props := append([]input.Property(nil), w.props...)
	for _, x := range a.list {
		if len(x.Vals) > 0 {
			w.set(x.Key, strings.ReplaceAll(strings.Join(x.Vals, ","), ";", ","))
		}
	}
	set := make([]input.Property, 0, len(w.props))
	for _, p := range w.props {
		if p.Value != "-" {
			set = append(set, p)
		}
	}
	r := w.plan(&input.SetQueues{Properties: set, DryRun: a.has("dry")})
	if w.refused(out, r) || a.has("dry") {
		w.props = props
	}
	w.tellActive(out)
	w.tellWarnings(out, r)
}

// adopt QUEUE [dry]: moves a dynamic queue into the configuration.
func doAdopt(w *world, a args, out *strings.Builder) {
	r := w.plan(&input.AdoptQueue{Queue: a.need(0), DryRun: a.has("dry")})
	if f := r.Refused(); f != nil {
		fmt.Fprintf(out, "refused: %v\n", f)
	}
	w.tellWarnings(out, r)
	if w.props = nil; w.p.st.Versions.Current() != nil {
		for _, p := range w.p.st.Versions.Current().Properties {
			w.props = append(w.props, input.Property{Name: p.Name, Value: p.Value})
		}
	}
}

func (w *world) tellWarnings(out *strings.Builder, r input.Reply) {
	if r, ok := r.(*input.SetQueuesReply); ok {
		for _, text := range r.Warnings {
			fmt.Fprintln(out, text)
		}
	}
	w.sameViews()
}
