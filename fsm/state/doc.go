// Package state is the replicated state: tables in copy-on-write pages that only events change.
//
// Leaders, followers, simulations, replays and tests use the same type. The committed state has
// applied the log. The planning state is a fork of it that is ahead by the events in flight. Reads,
// snapshots and what-if runs use forks, too. Fork copies page tables, not records: each side copies
// a page before it first writes to it.
//
// Apply checks an event against the state before it changes anything: no node is over-committed, a
// node has one reservation, no identity is used twice. A failed check means a bug in the code that
// emitted the event. The caller must stop, so that the replica does not diverge.
//
// Apply keeps everything current that a leader needs, so a new leader starts at once. Records refer
// to each other by slot; slot 0 means none. A new record takes the lowest free slot, so equal
// histories give equal slots.
//
// A pointer that Get or a similar method returns is for reading, and valid until the next Apply.
// The package reads no clock, ranges over no map and uses no floats.
//
// A field of a record that can be computed from other records (a sum, a count, the head of a list) is
// kept current by Apply and compared with a recomputation by Check.
//
// Begin with state.go (State, Fork, Apply). Package record has the records and their tables, and each
// file here the events that change one of them. Package table has the containers, package change what an
// event did.
package state
