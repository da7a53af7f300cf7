// Package shadow runs another queue configuration beside a cluster, on the events that the cluster
// commits, and compares the results:
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
// except decisions from the log unchanged. A shadow with the configuration in force has the digest
// of the cluster after every entry.
//
// Apart, an application's n-th container under a key runs as long as its n-th container in the
// cluster. An AM asks for as much as in the cluster, as long after its registration, and not before
// as many of its containers have ended. Both sides then stay some time behind the log, so that the
// length of most containers is known when they must end. If the shadow starts a container still
// earlier, it may have to estimate the end from other containers of the application, or from the
// history of such containers. The report counts these estimates.
//
// The package uses no clock and writes nothing to the log. docs/operations/shadow.md describes it
// to operators.
package shadow
