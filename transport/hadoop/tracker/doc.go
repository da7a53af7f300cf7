// Package tracker serves NodeManagers: ResourceTracker, on the
// resource-tracker port.
//
// A node talks to one replica at a time, and to another when that one is gone.
// What must survive that is in the replicated state; a session is the rest, what
// this replica needs to go on with a node: the last response id and its answer,
// what the node has reported so far, what it has been told. A node that comes
// from another replica is adopted: its response id is taken as it is, and its
// next report is passed on whole.
//
//	heartbeat ─▶ scan ─▶ says nothing new, nothing to be told? ─▶ answered here, it goes to the leader with the next NodesHeard
//	                └──▶ NodeHeartbeat, with what changed ─▶ committed ─▶ answered
//
// What always holds:
//
//   - A completion is committed before the heartbeat that carried it is answered.
//     The node keeps the container until its AM has heard of the end; what it may
//     forget is in the state, for whichever replica serves it then.
//   - One heartbeat of a node is in work at a time. One that failed leaves the
//     session as it was, and the next one reports everything.
//   - Orders are told from the state until they are done; what is told once is
//     told again when the node says that it had no answer.
//   - A replica that does not reach a leader for a while does not tell its nodes
//     that all is well: the leader may be losing them. It passes their heartbeats
//     on, fails, and so has them go to another replica.
//   - A report that comes late, after the node was heard by another call, is not
//     believed: each is a heartbeat session, which the planner knows (input.NodeHeartbeat).
//   - A call for a node from another address than the one that it registered from
//     touches neither session nor node.
//   - Sessions are volatile and bounded: a node that is not heard for two expiry
//     intervals is forgotten.
package tracker
