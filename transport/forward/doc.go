// Package forward takes inputs on any replica to the leader's sequencer: to this replica's own
// sequencer if it leads, otherwise to the leader over the replicas' connections. It holds inputs
// while there is no leader, and repeats them when their outcome is unknown. It returns a reply only
// after this replica has applied what the reply depends on.
//
//	Do ─▶ leader here? ─▶ Sequencer
//	        │ elsewhere ─▶ Peer.Call ─▶ (leader's) handler ─▶ its Sequencer
//	        │ nowhere ─▶ hold, at most Config.StandbyHold
//
// Repetition is safe because every input has something that makes it harmless (application,
// response number, container, idempotency key), and the state remembers it.
//
// An input is forwarded at most once: the handler passes it only to its own sequencer. The package
// sees the sequencer and the connections through interfaces of its own. It imports neither leader
// nor fsm.
//
// Begin with forwarder.go.
package forward
