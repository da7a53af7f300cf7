package planner

import (
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// warn NAME NUMBER … [attempt=N] [for=rN] [queue=Q]: warns containers, as a preemption round does.
func doWarn(w *world, a args, out *strings.Builder) {
	number, _ := strconv.ParseUint(strings.TrimPrefix(a.get("for", ""), "r"), 10, 64)
	w.eachContainer(a, func(p *Planner, slot state.ContainerSlot) {
		p.sched.AskPreemption(slot, event.PreemptionAsked{Reservation: number, Queue: "root." + a.get("queue", "a"),
			Cause: yarn.PreemptGuarantee, DeadlineMillis: p.sched.Now() + 15_000})
	})
	w.show(out, all)
}

// preempt NAME NUMBER … [attempt=N]: ends containers, as a preemption round does at the deadline.
func doPreempt(w *world, a args, out *strings.Builder) {
	w.eachContainer(a, func(p *Planner, slot state.ContainerSlot) { p.ends.KillPreempted(slot) })
	w.show(out, all)
}

// lost NAME: shows what the application has lost by preemption, and its warned containers.
func doLost(w *world, a args, out *strings.Builder) {
	slot, _ := w.app(a.need(0))
	lost := w.p.st.Preempted.Of(slot)
	out.WriteString(strconv.FormatUint(lost.Containers, 10) + " containers, " + strconv.FormatUint(lost.AMs, 10) +
		" AMs, " + w.size(lost.Size) + "; warned:")
	for c, k := range w.p.st.Containers.Of(w.p.st.Apps.Get(slot)) {
		if w.p.st.Preemptions.Has(c) {
			out.WriteString(" #" + strconv.FormatUint(k.Number, 10))
		}
	}
	out.WriteByte('\n')
}

func (w *world) eachContainer(a args, f func(p *Planner, slot state.ContainerSlot)) {
	_, app := w.app(a.need(0))
	attempt := must(strconv.ParseUint(a.get("attempt", strconv.Itoa(int(app.Attempt))), 10, 32))
	var ids []event.ContainerRef
	for i := 1; a.word(i) != ""; i++ {
		ids = append(ids, event.ContainerRef{App: app.ID.Seq, Attempt: uint32(attempt),
			Number: must(strconv.ParseUint(a.word(i), 10, 64))})
	}
	w.direct(func(p *Planner) {
		for _, ref := range ids {
			f(p, p.st.Container(ref))
		}
	})
}
