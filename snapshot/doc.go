// Package snapshot is the file form of the replicated state: a stream of typed
// sections behind a header and before a trailer, written from a fork and read
// with every byte checked. DESIGN.md has the layout and why it is so.
//
// Invariants:
//   - equal states at an equal index give equal bytes, on every replica;
//   - Read returns a state only when all of the stream was verified, the records
//     fit together (state.Reindex) and nothing follows the trailer;
//   - any damage is an error that names the section and the offset, never a panic;
//   - memory beyond the state itself is bounded by the largest single record.
//
// Package fsm calls it for Raft's snapshots, cmd/rmd for backups. It knows
// neither Raft nor files.
package snapshot
