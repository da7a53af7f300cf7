// Package views has what the scheduler derives from the state: the orders of queues and applications,
// the sums and caches for the limits, the index of free nodes, and who has how much room. It follows
// each event and decides nothing. Passes, preemption and explanations read it.
//
// Views is about the whole cluster (views.go), a View about the nodes of one label (view.go). Begin
// reading with these files:
//
//	views.go       what an event changes in the views
//	order.go       the orders in which queues and applications are served
//	partition.go   what is derived for each label
//	limits.go      the limits of queues and users; amlimit.go those of AMs
//	nodes.go       the indexes of free nodes
//	awaiting.go    reservations that wait for preempted containers
//	supposed.go    the views of a fork, for what-if questions
package views
