// Package hadoop loads a ResourceManager over Hadoop's own wire, as fake
// NodeManagers and unmanaged ApplicationMasters: for `rmd bench`. It speaks to
// any ResourceManager of that wire, so that two can be measured in one run.
//
//	lane ──beat──▶ node   ──nodeHeartbeat──▶ ResourceTracker of any replica
//	                 ▲ give: a container that its AM was told of
//	lane ──beat──▶ master ──allocate───────▶ ApplicationMasterProtocol
//
// A container's life is: asked for by its master, granted in an answer, handed
// to the fake node it is on, reported running in one heartbeat and complete in a
// later one, told to the master, and acknowledged by the master's next call. It
// counts when that call is answered.
//
// What always holds:
//   - Each node and each master has a connection of its own (nodes may be told to
//     share some) and at most one call under way, whose bytes are kept until it is
//     answered: what is repeated at another replica is the same call.
//   - Heartbeats and allocates are encoded and decoded by hand, on the goroutine
//     that reads the connection: the load shares the machine with what it loads.
//   - A batch is asked for under a key that has nothing outstanding, so that no
//     grant is in doubt: every container belongs to one batch.
//   - What contradicts the protocol is counted, never ignored: a container granted
//     or told twice, one that nobody asked for, a node that holds too much, a
//     completion that is never told.
package hadoop
