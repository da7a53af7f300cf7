// Package ledger is the checker's own accounting: it follows the committed log,
// event by event, and says where S6 to S10 are violated.
//
// It shares no code with the state machine or the planner, and none of their
// structures: applications, nodes and queues lie in slices, containers in a
// sorted slice of their application, and the use of a parent is summed from its
// leaves whenever it is asked for. What it has in common with them is only the
// vocabulary of the log (fsm/event) and of the trade (yarn).
//
//	bytes ─▶ Model.Entry ─▶ fence ─▶ follow(event)* ─▶ balance ─▶ Violations
//
// An entry is checked as a whole where the rule is about what readers see (queue
// sums and maxima), and event by event where it is about a decision (a node's
// room, a reservation's holder, an identity). After a violation the model goes on
// as well as it can; the first is what counts.
//
// The decision audit is part of it: what an event says is held against the state
// just before it. An illegal decision is a violation of its own (Audit), a legal
// but odd one is a note.
package ledger
