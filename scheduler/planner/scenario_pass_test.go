package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/scheduler/input"
)

// hb NODE … [times=N] [quiet]: sends heartbeats and shows the events of each.
func doHeartbeat(w *world, a args, out *strings.Builder) {
	times, _ := strconv.Atoi(a.get("times", "1"))
	last, same := "", 0
	tell := func() {
		if same > 1 {
			fmt.Fprintf(out, "%d times: ", same)
		}
		out.WriteString(last)
	}
	for range times {
		for i := 0; a.word(i) != "" && a.word(i) != "quiet"; i++ {
			var one strings.Builder
			w.plan(&input.NodeHeartbeat{ID: w.nodes[a.word(i)]})
			if a.has("quiet") {
				continue
			}
			if w.show(&one, all); one.Len() == 0 {
				one.WriteString("nothing\n")
			}
			if one.String() != last {
				tell()
				last, same = one.String(), 0
			}
			same++
		}
	}
	tell()
}

// pass leaf=Q node=N [limit=SIZE] [times=N]: runs the pass on one leaf only, without the checks of
// the node and of the parents.
func doPass(w *world, a args, out *strings.Builder) {
	node := w.p.st.Nodes.Find(w.nodes[a.get("node", "")])
	leaf := must(w.p.Config().Lookup(a.get("leaf", "a")))
	times, _ := strconv.Atoi(a.get("times", "1"))
	for range times {
		w.direct(func(p *Planner) {
			limit := p.st.Meta.Cluster
			if s := a.get("limit", ""); s != "" {
				limit = parseSize(s)
			}
			p.sched.Probe().PassOnLeaf(int32(leaf), node, limit)
		})
		before := out.Len()
		if w.show(out, all); out.Len() == before {
			out.WriteString("nothing\n")
		}
	}
}

type detail bool

const (
	reservationsOnly detail = false // cancellations only
	all              detail = true
)

// show prints the last input's events in the words of the scenarios.
func (w *world) show(out *strings.Builder, d detail) {
	for _, e := range w.events {
		if _, res := e.(*event.ReservationCancelled); d == all || res {
			out.WriteString(w.tellOne(e))
		}
	}
}

func (w *world) tell(events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %+v\n", e.Kind(), e)
	}
	return b.String()
}

func (w *world) tellOne(e event.Event) string {
	switch e := e.(type) {
	case *event.ContainerAllocated:
		size := w.sizeOf(e.App, e.Number)
		return fmt.Sprintf("%s #%d allocated %son %s %s\n", w.names[e.App], e.Number, size,
			w.p.st.Nodes.Get(e.Node).ID.Host, e.Locality)
	case *event.ContainerLent:
		until := fmt.Sprintf("until %d s from now", (e.DeadlineMillis-w.now+500)/1000)
		switch e.DeadlineMillis {
		case event.NoLease:
			until = "for ever"
		case 0:
			until = "until its room is needed"
		}
		return fmt.Sprintf("%s #%d borrows %sof r%d on %s %s\n", w.names[e.App], e.Number, w.sizeOf(e.App, e.Number),
			e.Reservation, w.p.st.Nodes.Get(e.Node).ID.Host, until)
	case *event.ReservationMade:
		return fmt.Sprintf("%s r%d reserved on %s\n", w.names[e.App], e.Reservation, w.p.st.Nodes.Get(e.Node).ID.Host)
	case *event.GangReserved:
		return fmt.Sprintf("%s r%d reserved on %s for %d\n", w.names[e.App], e.Reservation,
			w.p.st.Nodes.Get(e.Node).ID.Host, e.Members)
	case *event.GangStarted:
		return fmt.Sprintf("%s starts its gang\n", w.names[e.App])
	case *event.GangEnded:
		return fmt.Sprintf("the gang of %s is over: %s\n", w.names[e.App], e.Cause)
	case *event.ReservationFulfilled:
		return fmt.Sprintf("r%d fulfilled %s\n", e.Reservation, e.Locality)
	case *event.ReservationCancelled:
		return fmt.Sprintf("r%d cancelled %s\n", e.Reservation, e.Cause)
	case *event.AskCountersUpdated:
		return fmt.Sprintf("%s @%d opportunities %d re-reservations %d\n", w.names[e.App], e.Key.Priority, e.Opportunities,
			e.ReReservations)
	case *event.AskMissesUpdated:
		return fmt.Sprintf("%s @%d missed %d offers\n", w.names[e.App], e.Key.Priority, e.Missed)
	case *event.ContainerCompleted:
		return fmt.Sprintf("%s #%d ended\n", w.names[e.Container.App], e.Container.Number)
	case *event.ContainerReleased:
		return fmt.Sprintf("%s #%d released, its node has yet to end it\n", w.names[e.Container.App], e.Container.Number)
	case *event.ContainerResizeAsked:
		return fmt.Sprintf("%s #%d is to have %s\n", w.names[e.Container.App], e.Container.Number, w.size(e.Size))
	case *event.ContainerIncreased:
		return fmt.Sprintf("%s #%d increased\n", w.names[e.Container.App], e.Container.Number)
	case *event.ContainerDecreased:
		return fmt.Sprintf("%s #%d decreased to %s\n", w.names[e.Container.App], e.Container.Number, w.size(e.Size))
	case *event.ContainerSizeReported:
		return fmt.Sprintf("%s #%d has %s on its node\n", w.names[e.Container.App], e.Container.Number, w.size(e.Size))
	case *event.ResizeAcked:
		return fmt.Sprintf("%s #%d: its node has had version %d\n", w.names[e.Container.App], e.Container.Number, e.Version)
	case *event.ResizeReserved:
		return fmt.Sprintf("%s r%d reserved for #%d to grow\n", w.names[e.Container.App], e.Reservation, e.Container.Number)
	case *event.PreemptionAsked:
		return strings.TrimSuffix(fmt.Sprintf("%s #%d warned for %s", w.names[e.Container.App], e.Container.Number, e.Queue),
			" for ") + "\n"
	case *event.PreemptionWithdrawn:
		return fmt.Sprintf("%s #%d no longer warned: %s\n", w.names[e.Container.App], e.Container.Number, e.Cause)
	case *event.GuaranteeOwed:
		return strings.TrimSuffix(fmt.Sprintf("%s is %s %s", e.Path, e.Debt, e.Label), " ") + "\n"
	case *event.GuaranteeKept:
		return strings.TrimSuffix(fmt.Sprintf("%s keeps %s, idle for %dms of all at most %s", e.Path, w.size(e.Size),
			e.IdleLeft>>32, e.Label), " ") + "\n"
	case *event.AttemptActivated:
		return fmt.Sprintf("%s activated\n", w.names[e.App])
	case *event.AttemptStarted:
		return fmt.Sprintf("%s attempt %d parked=%v\n", w.names[e.App], e.Attempt, e.NonRunnable)
	case *event.ApplicationEnded:
		return fmt.Sprintf("%s %s\n", w.names[e.App], e.State)
	}
	return ""
}

func (w *world) sizeOf(app uint32, number uint64) string {
	slot := w.p.st.Apps.Find(app)
	ref := event.ContainerRef{App: app, Attempt: w.p.st.Apps.Get(slot).Attempt, Number: number}
	if c := w.p.st.Container(ref); c != 0 {
		return w.size(w.p.st.Containers.Get(c).Size) + " "
	}
	return ""
}
