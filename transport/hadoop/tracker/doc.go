// Package tracker implements ResourceTracker for NodeManagers, on the resource-tracker port.
//
// A node talks to one replica at a time, and moves to another one when that replica fails. What
// must survive the move is in the replicated state. The rest is in a session, which this replica
// needs to continue with the node: the last response id and its answer, what the node has reported
// so far, and what the node was told. A node that arrives from another replica is adopted: the
// session takes over its response id, and forwards its whole next report.
//
//	heartbeat ─▶ scan ─▶ nothing new, no command pending? ─▶ answered here; the leader hears of it with the next NodesHeard
//	                └──▶ NodeHeartbeat, with what changed ─▶ committed ─▶ answered
//
// Invariants:
//
//   - A completion is committed before the heartbeat that reported it is answered. The node keeps
//     the container until its AM has heard of the end. The state says what the node may forget, so
//     every replica knows it.
//   - One heartbeat of a node is processed at a time. A failed heartbeat leaves the session as it
//     was, and the next one reports everything.
//   - The state repeats commands to a node until they are done. A command that is sent once is sent
//     again if the node says that it had no answer.
//   - A replica that cannot reach a leader for a while does not answer idle heartbeats, because the
//     leader may be about to expire these nodes. It forwards their heartbeats and fails, so the
//     nodes move to another replica.
//   - A report that arrives late, after another call of the node, is refused: each unbroken
//     sequence of heartbeats is a heartbeat session, which the planner knows (input.NodeHeartbeat).
//   - A call from another address than that of the node's registration changes neither session nor
//     node.
//   - Sessions are volatile and bounded: a node that was silent for two expiry intervals is
//     forgotten.
//
// Begin with heartbeat.go.
package tracker
