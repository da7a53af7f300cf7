package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// queue NAME …: shows used/reserved, as in the specification.
func doQueue(w *world, a args, out *strings.Builder) {
	for i := 0; a.word(i) != ""; i++ {
		q := w.p.sched.Queue(int32(must(w.p.Config().Lookup(a.word(i)))))
		fmt.Fprintf(out, "%s %s/%s, %d containers, pending %s", q.Path, w.size(q.Used), w.size(q.Reserved), q.Containers,
			w.size(q.Pending))
		if q.Leaf {
			fmt.Fprintf(out, ", applications %d active %d pending", q.ActiveApps, q.PendingApps)
			if q.NonRunnableApps > 0 {
				fmt.Fprintf(out, " %d parked", q.NonRunnableApps)
			}
		}
		if q.State != yarn.QueueRunning {
			fmt.Fprintf(out, ", %s", q.State)
		}
		out.WriteByte('\n')
	}
}

// key NAME PRIORITY: shows one ask and its counters.
func doKey(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	n, _ := strconv.Atoi(a.need(1))
	slot := w.p.st.Asks.Find(app, yarn.SchedulerKey{Priority: int32(n)})
	if slot == 0 {
		out.WriteString("not asked\n")
		return
	}
	k := w.p.st.Asks.Get(slot)
	fmt.Fprintf(out, "outstanding %dx%s, %d reserved, re-reservations %d, opportunities %d", k.Count, w.size(k.Size),
		k.Reservations, k.ReReservations, k.Opportunities)
	for _, at := range w.p.st.Locations.Of(k) {
		fmt.Fprintf(out, ", %s:%d", w.p.st.Names.Text(at.Name), at.Count)
	}
	out.WriteByte('\n')
}

// res: shows every reservation.
func doRes(w *world, _ args, out *strings.Builder) {
	w.p.st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		a := w.p.st.Apps.Get(r.App)
		fmt.Fprintf(out, "r%d %s @%d #%d %s on %s, re-reservations %d\n", r.Number, w.names[a.ID.Seq], r.Key.Priority,
			r.Container, w.size(r.Size),
			w.p.st.Nodes.Get(r.Node).ID.Host, w.p.st.Asks.Get(w.p.st.AskFor(a, r.Key, r.IncreaseOf)).ReReservations)
		return true
	})
	if w.p.st.Reservations.Len() == 0 {
		out.WriteString("none\n")
	}
}

// headroom NAME …: shows the headroom in an answer to the AM.
func doHeadroom(w *world, a args, out *strings.Builder) {
	for i := 0; a.word(i) != ""; i++ {
		slot, _ := w.app(a.word(i))
		fmt.Fprintf(out, "%s headroom %s\n", a.word(i), w.size(w.p.sched.Headroom(slot)))
	}
}

// users QUEUE: shows the number of active users in the queue's limits.
func doUsers(w *world, a args, out *strings.Builder) {
	q := w.p.sched.Queue(int32(must(w.p.Config().Lookup(a.need(0)))))
	fmt.Fprintf(out, "active %d, with pending applications only %d\n", q.ActiveUsers, q.WaitingUsers)
}

// userlimit NAME …: shows the limit of the application's user in its leaf.
func doUserLimit(w *world, a args, out *strings.Builder) {
	for i := 0; a.word(i) != ""; i++ {
		_, app := w.app(a.word(i))
		v := w.p.sched.In(0, false)
		fmt.Fprintf(out, "%s uses %s of %s\n", w.p.st.Names.Text(app.User), w.size(w.p.st.Users.Get(app.UserSlot).Used),
			w.size(v.UserLimit(v.LeafOf(app), app.UserSlot)))
	}
}

// amlimit QUEUE [NAME]: shows the AM limit of the queue, and of NAME's user.
func doAMLimit(w *world, a args, out *strings.Builder) {
	v := w.p.sched.In(0, false)
	i := int32(must(w.p.Config().Lookup(a.need(0))))
	limit := v.AMLimit(i)
	fmt.Fprintf(out, "AMs %s of %s", w.size(w.p.sched.Queue(i).AMUsed), w.size(limit))
	if name := a.word(1); name != "" {
		_, app := w.app(name)
		fmt.Fprintf(out, ", of %s %s", w.p.st.Names.Text(app.User), w.size(v.UserAMLimit(i, app.UserSlot)))
	}
	out.WriteByte('\n')
}

// counters: shows the counts of reservations since the beginning.
func doCounters(w *world, _ args, out *strings.Builder) {
	m := &w.p.st.Meta
	fmt.Fprintf(out, "made %d fulfilled %d", m.Made, m.Fulfilled)
	for cause, n := range m.Cancelled {
		if n > 0 {
			fmt.Fprintf(out, " %s %d", yarn.CancelCause(cause), n)
		}
	}
	out.WriteByte('\n')
}

// explain NAME: shows the reason why the application waits.
func doExplain(w *world, a args, out *strings.Builder) {
	x, err := explain.Application(w.p.sched, w.apps[a.need(0)])
	if err != nil {
		fmt.Fprintf(out, "%v\n", err)
		return
	}
	fmt.Fprintf(out, "%s\n", x.Reason)
}

// pendinglimit QUEUE: shows the pending resources within the users' limits, from which preemption
// starts.
func doPendingLimit(w *world, a args, out *strings.Builder) {
	i := must(w.p.Config().Lookup(a.need(0)))
	total := preemption.PartitionOf(w.p.sched.Views, 0).Queues[i].Pending
	fmt.Fprintf(out, "pending within user limits %s\n", w.size(total))
}
