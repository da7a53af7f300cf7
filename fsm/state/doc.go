// Package state is the replicated state: tables in copy-on-write pages that
// change only by applying events.
//
// One type serves leader, follower, simulation, replay and tests. The
// committed state is what the log has applied; the planning state is a fork of
// it that is ahead by the events in flight; reads, snapshots and what-if runs
// are forks too. Fork copies page tables, never records: both sides copy a page
// before they first write to it.
//
// Apply checks an event against the state before it changes anything: no node
// over-committed, one reservation a node, no identity used twice. A check that
// fails is a bug in the code that emitted the event, and the caller must stop
// rather than diverge.
//
// Everything a leader needs is kept current here by Apply, so that a new one
// starts at once. Records refer to each other by slot; slot 0 is none. Slots
// are the lowest free ones, so equal histories give equal slots.
//
// Pointers that Get-like methods return are for reading and only until the next
// Apply. Nothing here reads a clock, ranges over a map, or uses a float.
package state
