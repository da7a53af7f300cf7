// Package analysis is the room of what answers questions about the past and the future beside the
// log. Nothing in it writes to the log or changes the state of a replica:
//
//   - past: the state at an earlier index, and the causes of decisions
//   - reasons: why applications wait now
//   - whatif: what a submission, an input or another queue configuration would do
//   - preview: what preemption would have done
//   - rerun: the recorded workload again, with and without reservations
//   - shadow: another queue configuration beside the log, and host, which runs it at a replica
//   - forecast: when waiting containers will start, and forecaster, which forecasts at a replica
//
// Each plans on a fork with a planner of its own, so a fault there cannot harm the cluster. Those whose
// planner goes on in virtual time (rerun, shadow, forecast) let a runner do that, see package runner.
// The others ask a planner once (whatif), use a shadow (preview), or make no decisions: past and
// reasons only apply the events of the log and explain them.
package analysis
