// Package rerun replays what the log of a cluster recorded, on planners of its own, with and
// without reservations, so that an operator can compare both. It does not touch the cluster.
//
//	log ──▶ recording: the asks with their times, and how long each container ran
//	            └──▶ workload.Simulate over a planner, in virtual time, twice
//
// The asks are those of the recording. The replay cannot predict that an application would have
// asked for something else if it had been served earlier.
package rerun
