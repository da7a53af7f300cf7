// Package forward takes inputs on any replica to the leader's sequencer: to the
// one here when this replica leads, else over the replicas' own wire; holds them
// while there is no leader, repeats them when their outcome is unknown, and
// returns a reply only when this replica has applied what it rests on.
//
//	Do ─▶ leader here? ─▶ Sequencer
//	        │ elsewhere ─▶ Peer.Call ─▶ (leader's) handler ─▶ its Sequencer
//	        │ nobody ─▶ hold, at most Config.StandbyHold
//
// Repeating is sound because every input names what makes its repetition
// harmless (application, response number, container, idempotency key), and that
// memory is replicated.
//
// An input is forwarded once at most: the handler knows no way but its own
// sequencer. The package sees the sequencer and the wire through interfaces of
// its own and imports neither leader nor fsm.
package forward
