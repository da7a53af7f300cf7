// Package workload drives a cluster with simulated NodeManagers and ApplicationMasters that enter by the public wire:
// for `rmd dev`, `rmd replay`, `rmd bench` and the chaos tests.
//
//	jobs (trace, mixed) ──▶ app ──┐                    ┌──▶ Submitter ──▶ any replica
//	trace.Node ───────────▶ node ─┴─ world ── executor ┘
//	                                  │
//	                                  └──▶ report.Collector ──▶ Summary
//
// One goroutine owns every node, application and figure (loop.go): a heap of timers and a queue of what is ready. Nodes
// and applications are state machines with at most one call under way each. There are two ways to run the same world:
//
//   - [Run], in real time: calls are made by a bounded number of goroutines and their answers come back to the loop.
//     Heartbeats keep real time; submissions, run times and delays of the jobs run Config.Speed times as fast.
//   - [Simulate], as fast as the cluster answers: calls are made one at a time in virtual time, so that the same
//     Config and the same Submitter give the same row of inputs and the same figures.
//
// What always holds:
//   - A node takes each launch once, reports each container running at most once and completed once, and repeats a
//     report only when the call that carried it got no answer.
//   - An application counts each container once. A surplus container is given back; a lost one is asked for again.
//   - Ids come from the cluster, response numbers from its answers; nothing here is random.
//   - Everything has a bound: calls under way, applications alive, containers measured, samples kept.
//
// Waits are in virtual time, from the ask to the answer that told of the grant.
//
// input.Ask carries no node label: a trace's labels are not asked for here. GPUs need a place in Config.Kinds.
package workload
