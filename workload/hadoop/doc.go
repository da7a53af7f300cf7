// Package hadoop loads a ResourceManager through Hadoop's own protocols, as fake NodeManagers and
// unmanaged ApplicationMasters: for `rmd bench`. It works with every ResourceManager of these
// protocols, so that two can be measured in one run.
//
//	pacer ──beat──▶ node   ──nodeHeartbeat──▶ ResourceTracker of any replica
//	                 ▲ give: a container that its AM received
//	pacer ──beat──▶ master ──allocate───────▶ ApplicationMasterProtocol
//
// The life of a container: its master asks for it and receives it in an answer. The fake node gets
// it, reports it running in one heartbeat and complete in a later one. The master hears of the end,
// and acknowledges it with its next call. The container counts when that call is answered.
//
// Invariants:
//   - Each node and each master has a connection of its own (nodes may be configured to share some)
//     and at most one call in flight. The bytes of the call are kept until it is answered, so a
//     repetition at another replica is the same call.
//   - Heartbeats and allocates are encoded and decoded by hand, on the goroutine that reads the
//     connection, because the load shares the machine with the ResourceManager.
//   - A batch is asked for under a key that has nothing outstanding, so every container belongs to
//     one batch.
//   - A violation of the protocol is counted, never ignored: a container granted or reported twice,
//     one that was not asked for, a node that holds too much, a completion that is never reported.
package hadoop
