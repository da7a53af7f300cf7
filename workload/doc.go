// Package workload drives a cluster with simulated NodeManagers and ApplicationMasters through its
// public protocol: for `rmd dev`, `rmd replay`, `rmd bench` and the chaos tests.
//
//	jobs (trace, mixed) ──▶ app ──┐                    ┌──▶ Submitter ──▶ any replica
//	trace.Node ───────────▶ node ─┴─ world ── executor ┘
//	                                  │
//	                                  └──▶ report.Collector ──▶ Summary
//
// One goroutine owns every node, application and figure (loop.go), with a heap of timers and a
// queue of what is ready. Nodes and applications are state machines with at most one call in flight
// each. There are two ways to run the same world:
//
//   - [Run], in real time: a bounded number of goroutines makes the calls, and the answers return
//     to the loop. Heartbeats keep real time. Submissions, run times and delays of the jobs run
//     Config.Speed times as fast.
//   - [Simulate], as fast as the cluster answers: calls are made one at a time in virtual time. So
//     the same Config and the same Submitter give the same sequence of inputs and the same figures.
//
// Invariants:
//   - A node takes each launch once. It reports each container running at most once and completed
//     once, and repeats a report only if the call that carried it got no answer.
//   - An application counts each container once. It returns a surplus container and asks again for
//     a lost one.
//   - Ids come from the cluster, response numbers from its answers; nothing here is random.
//   - Everything is bounded: calls in flight, live applications, measured containers, samples.
//
// Waits are in virtual time, from the ask to the answer with the container.
//
// Applications do not ask for the node labels of a trace. GPUs need a place in Config.Kinds.
package workload
