// Package ledger judges a committed log. It follows every event with accounts of its own, and
// reports violations of S3 to S10, S12, S17, S18, S20 and L7. It judges histories of real processes
// (package check) and both simulations (sim, logsim).
//
// It shares no code and no data structures with the state machine or the planner: applications,
// nodes and queues are in slices, containers in a sorted slice of their application, and the use of
// a parent queue is summed from its leaves at each question. It shares only the types of the log
// (fsm/event) and of YARN (yarn).
//
//	bytes ─▶ Ledger.Entry ─▶ fence ─▶ follow(event)* ─▶ balance ─▶ Violations
//
// A rule about what readers see (queue sums and maxima) is checked after the whole entry. A rule
// about a decision (a node's room, a reservation's holder, an identity) is checked at each event.
// After a violation the ledger continues as well as it can; the first violation counts.
//
// The decision audit is part of the ledger: it compares each decision with the accounts just before
// it. An illegal decision is a violation (Audit), a legal but unusual one is a note.
//
// Ledger consists of parts, one for each noun, which own their data and know each other (nouns).
//
// Package owed judges the debts to queues that wait for their guarantees, and what is kept for them
// then; debt.go tells it what the ledger knows.
//
// query.go answers callers that compare an answer with the ledger. Differ compares a dump of a
// replica's state with the ledger; package statediff compares the state itself. Begin with
// ledger.go and follow.go.
package ledger
