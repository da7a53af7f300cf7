// Package shadow runs another queue configuration beside a cluster, on the events that the cluster
// commits, and compares what becomes of both:
//
//	events of the log ──▶ the cluster's state, as every replica has it
//	        │
//	        ├──▶ in step: a planner with the other configuration decides where the cluster decides,
//	        │    and must decide the same
//	        └──▶ apart, from the first decision that differs: the planner goes its own way. What was
//	             submitted, asked for and lost comes from the log; containers end when their own
//	             time is over
//
// The log holds decisions, not requests, so while the two are in step everything but decisions is
// taken from it as it stands. A shadow with the configuration in force has the digest of the cluster
// after every entry.
//
// Apart, an application's n-th container under a key runs as long as its n-th container in the
// cluster. An AM asks for as much as in the cluster, as long after its registration, and not before as
// many of its containers have ended. Both sides then stay some time behind the log, so that the length
// of a container is mostly known when it must end. Where the shadow starts one still earlier, the end
// may have to be guessed, from other containers of the application or from the history of such
// containers. The report counts these.
//
// Nothing here has a clock, and nothing of it reaches the log.
package shadow
