// Package forward passes inputs of any replica to the leader's sequencer: to this replica's own
// sequencer if it leads, otherwise to the leader over the connections between replicas. It holds
// inputs while there is no leader, and repeats them when their outcome is unknown. It returns a
// reply only after this replica has applied what the reply depends on.
//
//	Do ─▶ leader here? ─▶ Sequencer
//	        │ elsewhere ─▶ Peer.CallUntil ─▶ (leader's) handler ─▶ its Sequencer
//	        │ nowhere ─▶ hold, at most Config.Hold
//
// An input can be repeated safely: each input contains something that makes a repetition harmless
// (application, response number, container, idempotency key), and the state remembers it.
//
// An input is forwarded at most once: the handler passes it only to its own sequencer. The package
// accesses the sequencer and the connections through its own interfaces. It imports neither leader
// nor fsm.
//
// Read forwarder.go first.
package forward
