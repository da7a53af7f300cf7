// Package rerun plays what the replicated log of a cluster has recorded once more,
// on planners of its own, with reservations and without: whether they have paid
// off is seen side by side. Nothing of the cluster is touched.
//
//	log ──▶ recording: who asked for what when, and how long it ran
//	            └──▶ workload.Simulate over a planner, in virtual time, twice
//
// What was asked for is what happened then: an application that would have asked
// for something else, had it been served earlier, is not foreseen.
package rerun
