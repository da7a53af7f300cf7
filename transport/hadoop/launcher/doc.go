// Package launcher starts ApplicationMasters: on the leader, it calls the
// NodeManagers that are to run them.
//
// What is to be started is read from the committed state, never handed over: an
// AM container on a dialed node whose attempt waits for it. A watch only says
// when to look again. So a new leader finds by itself what the one before had
// decided and may or may not have done, and does it again; the node's own
// refusal ("already is running on this node") makes the start single, and counts
// as success.
//
//	watch ─▶ look ─▶ dial (one goroutine an AM, ParallelMax at a time) ─▶ NodeManager
//	          │        └─▶ AttemptLaunched or AttemptLaunchFailed, through the forwarder
//	          └─▶ cancel what has ended meanwhile
//
// A node that cannot be reached is tried again until MaxWait is over, and then
// it is the node's fault, which does not count against the application. A node
// that refuses is believed at once, save where it says that it is not ready.
//
// Stopping an AM is not done here: the node is told in its heartbeats.
package launcher
