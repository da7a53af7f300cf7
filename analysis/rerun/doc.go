// Package rerun simulates the recorded workload of a cluster's log on its own planners, with and
// without reservations, so that an operator can compare both. It does not touch the cluster.
//
//	log ──▶ recording: the asks with their times, and how long each container ran
//	            └──▶ workload.Simulate over a planner, in virtual time, twice
//
// The asks are those of the recording. The simulation cannot know which asks an application would
// have sent if it had been served earlier.
package rerun
