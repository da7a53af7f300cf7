// Package scheduler is the planner: (state, input) → events and a reply.
//
// It is pure. It reads no clock, starts no goroutine, does no I/O and holds no
// global; the time is a parameter of Plan. The planning state belongs to it and
// changes only by the events it emits, which are the very events that go into
// the log. What it holds besides (queue orders, application orders, the index of
// free room) is derived from that state and can be made anew from it: a new
// leader does so when it takes office.
//
//	Plan ─▶ one file per noun (node, application, attempt, queues …)
//	          │
//	          ▼
//	        pass ─▶ parent ─▶ leaf ─▶ allocator table ─▶ accept ─▶ commit ─▶ events
//
// The rules are those of Hadoop 3.4.2's Capacity Scheduler; comments name the
// behaviour matched, and say why where we differ. Node labels and preemption are
// not part of it yet: labels will multiply the ledger rows by partition,
// preemption is a folder of its own beside these.
package scheduler
