// Package ledger judges a committed log: it follows every event with accounts of its own, and says
// where S5 to S10 and S12 are violated. Histories of real processes (check) and both simulations
// (sim, logsim) are judged by it.
//
// It shares no code with the state machine or the planner, and none of their structures:
// applications, nodes and queues lie in slices, containers in a sorted slice of their application,
// and the use of a parent queue is summed from its leaves whenever it is asked for. What it has in
// common with them is only the vocabulary of the log (fsm/event) and of YARN (yarn).
//
//	bytes ─▶ Ledger.Entry ─▶ fence ─▶ follow(event)* ─▶ balance ─▶ Violations
//
// An entry is checked as a whole where the rule is about what readers see (queue sums and maxima),
// and event by event where it is about a decision (a node's room, a reservation's holder, an
// identity). After a violation the ledger goes on as well as it can; the first is what counts.
//
// The decision audit is part of it: a decision is held against the accounts just before it. An
// illegal decision is a violation of its own (Audit), a legal but odd one is a note.
//
// query.go is what callers may look up: what an answer promises must be there. Differ holds a dump
// of a replica's state against the ledger; package statediff does so with the state itself.
package ledger
