// Package twin compares rmd's planner with Hadoop's own CapacityScheduler, decision by decision.
//
// A history is a list of steps: nodes that come, go and change their size, applications, asks,
// heartbeats. Generate makes one from a seed. Planner plays it into planner.Plan, in YARN's timing
// (no eager passes), and writes down after each step everything that is allocated, reserved, used and
// pending, by node, queue, user, application and scheduler key. Hadoop plays it into the
// CapacityScheduler of Hadoop 3.4.2, which a Java program of ours (interop/java/rmd/interop/Twin.java)
// drives without threads or clocks, and writes down the same. Compare holds the two against each
// other. What differs is a fault of one of them, or stands in the table of intended differences with
// its reason; Shrink makes the history that shows it as short as it can.
//
//	Generate ─▶ History ─▶ Planner (planner.Plan) ─▶ observations ─┐
//	                 └───▶ Hadoop  (CapacityScheduler) ─▶ observations ─┴─▶ Compare ─▶ Shrink
//
// The command is twin/run; docs/development/twin.md says how to use it.
package twin
