// Package twin compares rmd's planner with Hadoop's own CapacityScheduler, decision by decision.
//
// A history is a list of steps: nodes that register, leave and change their size, applications,
// asks, heartbeats. Generate makes a history from a seed. Planner plays it on planner.Plan, in
// YARN's timing (no eager passes). After each step it records everything that is allocated,
// reserved, used and pending, by node, queue, user, application and scheduler key. Hadoop plays it
// on the CapacityScheduler of Hadoop 3.4.2, or of RMD_INTEROP_HADOOP=3.5.0, and records the same. A Java program
// (interop/java/rmd/interop/Twin.java) drives that scheduler without threads or clocks. Compare
// compares the two records. A difference is a fault of one side, or is in the table of intended
// differences with its reason. Shrink makes the history of a difference as short as possible.
//
//	Generate ─▶ History ─▶ Planner (planner.Plan) ─▶ observations ─┐
//	                 └───▶ Hadoop  (CapacityScheduler) ─▶ observations ─┴─▶ Compare ─▶ Shrink
//
// The command is twin/run; docs/development/twin.md says how to use it.
package twin
