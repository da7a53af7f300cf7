// Package scheduler allocates containers and reserves nodes, as Hadoop 3.4.2's Capacity Scheduler
// does. Comments name the rule matched, and say why where we differ.
//
// It is pure: it reads no clock, starts no goroutine and does no I/O. It changes its state by the
// events that it emits, which are the very events that go into the log. What it keeps besides (the
// orders of queues and applications, sums for the limits, the index of free nodes) follows from that
// state: a new leader derives it again.
//
// A pass is one look at one node:
//
//	HeartbeatPass, eager passes      pass.go, eager.go   which nodes are served, and how often
//	assignParent, assignLeaf         pass.go, order.go   down the queues to an application, in order
//	queue, user and AM limits        limits.go, activation.go
//	offer, offerKey                  allocator.go        the application's keys, in order
//	reachOf, place                   locality.go         which nodes an ask may use, and when
//	assignAt                         allocator.go        allocate, reserve, or nothing
//	fulfill, cancel…                 reservation.go      all that becomes of a reservation
//	accept, commit                   commit.go           the decision becomes events
//
// Package planner turns inputs into events, with a Scheduler for everything above. Package explain
// says why something waits. Package capacity holds the queue tree and the formulas of its limits.
//
// Each label makes a partition, with views of its own (partition.go). Nodes of a label that is not
// exclusive are lent to asks without one (lending.go). Preemption runs in rounds of its own
// (preemption_round.go).
package scheduler
