// Package launcher starts ApplicationMasters. On the leader, it calls the NodeManagers that must
// run them.
//
// The launcher reads from the committed state what must be started: each AM container on a real
// node whose attempt waits for it. A watch only tells it when to read again. A new leader therefore
// finds the launches that the previous leader decided, and repeats them, whether they happened or
// not. A node that already runs the container refuses the repetition ("already is running on this
// node"), which counts as success. So each container starts once.
//
//	watch ─▶ look ─▶ dial (one goroutine an AM, ParallelMax at a time) ─▶ NodeManager
//	          │        └─▶ AttemptLaunched or AttemptLaunchFailed, through the forwarder
//	          └─▶ cancel the launches that have ended meanwhile
//
// The launcher tries to reach a node until MaxWait has passed. Then the failure counts as the
// node's and not as the application's. A node's refusal is final, unless the node says that it is
// not ready.
//
// The launcher does not stop AMs: nodes learn in their heartbeats what to stop.
package launcher
