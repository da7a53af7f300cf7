// Package scheduler allocates containers and reserves nodes, as the Capacity Scheduler of Hadoop
// 3.4.2 does. A comment names the rule of YARN that the code follows, and gives the reason where
// rmd differs.
//
// The package is deterministic: it reads no clock, starts no goroutine and does no I/O. It changes
// its state only by the events that it emits, and these events go into the log. All else that it
// keeps follows from the state, so a new leader can derive it again. Package views has that: the
// orders of queues and applications, the sums for the limits, the index of free nodes.
//
// A pass offers one node to the queues. Begin reading with these files:
//
//	HeartbeatPass, eager passes      pass.go, eager.go   which nodes are served, and how often
//	assignParent, assignLeaf         pass.go             down the queues to an application, in order
//	queue and user limits            views/limits.go     also those of preemption and explanations
//	AM limits                        activation.go       which applications start
//	offer, offerKey                  allocator.go        the application's keys, in order
//	reachOf, place                   locality.go         which nodes an ask may use, and when
//	assignAt                         allocator.go        allocate, reserve, or nothing
//	fulfill, cancel…                 reservation.go      the whole life of a reservation
//	accept, commit                   commit.go           the decision becomes events
//	Trial                            refusal.go          why passes do not serve an ask, for explanations
//
// Package planner turns inputs into events and calls a Scheduler for all of the above. Package
// explain says why an application waits. Package capacity has the queue tree and the formulas of
// its limits.
//
// Each label makes a partition with views of its own (views/partition.go). Nodes of a label that is
// not exclusive are lent to asks without a label (lending.go). Preemption runs in separate rounds,
// above this package (package preemption).
package scheduler
