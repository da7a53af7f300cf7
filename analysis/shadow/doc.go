// Package shadow runs another queue configuration in parallel with a cluster, on the events that
// the cluster commits, and compares the results:
//
//	events of the log ──▶ the cluster's state, as every replica has it
//	        │
//	        ├──▶ in step: a planner with the other configuration decides where the cluster decides,
//	        │    and must decide the same
//	        └──▶ apart, from the first decision that differs: the planner makes its own decisions.
//	             Submissions, asks and losses come from the log; each container ends after its own
//	             time
//
// The log has decisions, not requests. So while both are in step, the shadow takes everything
// except decisions from the log unchanged. A shadow whose configuration equals the cluster's has
// the same digest as the cluster after every entry.
//
// Apart, an application's n-th container under a key runs as long as its n-th container in the
// cluster. An AM makes the same asks as in the cluster, as long after its registration, and not
// before as many of its containers have ended. Both sides stay some time behind the log, so that
// the run time of most containers is known when they must end. If the shadow starts a container
// even earlier, it may have to estimate the run time from other containers of the application or
// from the history. The report counts these estimates.
//
// The package uses no clock and writes nothing to the log. docs/operations/shadow.md describes it
// for operators.
package shadow
