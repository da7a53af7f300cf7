package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity/limits"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// check queue=Q limit=SIZE unreservable=SIZE | check app=NAME limit=SIZE: runs the queue check or
// the user check of a pass with the given limit.
func doCheck(w *world, a args, out *strings.Builder) {
	limit := parseSize(a.get("limit", ""))
	if q := a.get("queue", ""); q != "" {
		ok, headroom := w.p.sched.Probe().QueueLimit(int32(must(w.p.Config().Lookup(q))), limit,
			parseSize(a.get("unreservable", "0M")))
		fmt.Fprintf(out, "%v headroom %s\n", ok, w.size(headroom))
		return
	}
	_, app := w.app(a.get("app", ""))
	ok, need := limits.UserCheck(limits.UserCheckInput{Calculator: w.p.Config().Calculator, Total: w.p.st.Meta.Cluster,
		Used: w.p.st.Users.Get(app.UserSlot).Used, AppReserved: app.Reserved, Limit: limit,
		ContinueLooking: w.p.Config().ContinueLooking})
	fmt.Fprintf(out, "%v needs to unreserve %s\n", ok, w.size(need))
}

// victim NAME PRIORITY need=SIZE: shows which reservation would be exchanged.
func doVictim(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	n, _ := strconv.Atoi(a.need(1))
	slot := w.p.sched.Probe().Exchanged(app, &state.Ask{Key: yarn.SchedulerKey{Priority: int32(n)}},
		parseSize(a.get("need", "")))
	if slot == 0 {
		out.WriteString("none\n")
		return
	}
	r := w.p.st.Reservations.Get(slot)
	fmt.Fprintf(out, "r%d on %s\n", r.Number, w.p.st.Nodes.Get(r.Node).ID.Host)
}

// mayhold N,R,RR,SIZE …: computes rows of the table in 10.2.
func doMayHold(w *world, a args, out *strings.Builder) {
	for i := 0; a.word(i) != ""; i++ {
		f := strings.Split(a.word(i), ",")
		num := func(i int) int64 { return must(strconv.ParseInt(f[i], 10, 64)) }
		fmt.Fprintf(out, "(%s) %v\n", a.word(i), w.p.sched.Probe().NeedsMore(num(0), num(1), num(2), parseSize(f[3])))
	}
}

// propose NAME app=A node=N: computes a proposal under this name without committing it.
func doPropose(w *world, a args, out *strings.Builder) {
	slot, _ := w.app(a.get("app", ""))
	d := w.p.sched.Probe().Propose(slot, w.p.st.Nodes.Find(w.nodes[a.get("node", "")]))
	w.held[a.need(0)] = d
	switch {
	case d.Allocate:
		fmt.Fprintf(out, "allocate %s", w.size(d.Size))
	case d.Reserve:
		fmt.Fprintf(out, "reserve %s", w.size(d.Size))
	default:
		out.WriteString("nothing\n")
		return
	}
	if d.Exchanged != 0 {
		fmt.Fprintf(out, " in exchange for r%d", w.p.st.Reservations.Get(d.Exchanged).Number)
	}
	out.WriteByte('\n')
}

// commit NAME: checks the proposal against the present state and commits it.
func doCommit(w *world, a args, out *strings.Builder) {
	d := w.held[a.need(0)]
	if !w.p.sched.Probe().Accept(&d) {
		out.WriteString("rejected\n")
		return
	}
	w.direct(func(p *Planner) { p.sched.Probe().Commit(d) })
	w.show(out, all)
}

// apply fulfilled|cancelled N: reports whether the event still follows from the state.
func doApply(w *world, a args, out *strings.Builder) {
	n, _ := strconv.ParseUint(strings.TrimPrefix(a.need(1), "r"), 10, 64)
	var e event.Event = &event.ReservationFulfilled{Reservation: n, Locality: yarn.OffSwitch}
	if a.need(0) == "cancelled" {
		e = &event.ReservationCancelled{Reservation: n, Cause: yarn.CancelAskGone}
	}
	if err := w.p.st.Fork().Apply(e); err != nil {
		out.WriteString("does not follow\n")
		return
	}
	out.WriteString("follows\n")
}

// cancel rN: an operator cancels the reservation.
func doCancel(w *world, a args, out *strings.Builder) {
	n, _ := strconv.ParseUint(strings.TrimPrefix(a.need(0), "r"), 10, 64)
	w.refused(out, w.plan(&input.CancelReservation{Number: n}))
	w.show(out, all)
}

// rawsize NAME 2x2G@1: changes the size of an ask without the planner's usual effects.
func doRawSize(w *world, a args, _ *strings.Builder) {
	_, app := w.app(a.need(0))
	k := parseAsk(a.need(1), true)
	w.direct(func(p *Planner) {
		p.sched.Emit(&event.AskChanged{App: app.ID.Seq, Key: k.Key, Name: yarn.Any, Count: k.Count,
			Size: k.Size, Relax: true})
	})
}
