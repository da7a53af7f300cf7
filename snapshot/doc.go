// Package snapshot is the file format of the replicated state: a stream of typed sections between a
// header and a trailer. It is written from a fork and read with every byte checked. DESIGN.md has
// the layout and its reasons.
//
// Invariants:
//   - Equal states at an equal index give equal bytes, on every replica.
//   - Read returns a state only if the whole stream was verified, the records fit together
//     (state.Reindex) and nothing follows the trailer.
//   - Damage gives an error that names the section and the offset, never a panic.
//   - Memory beyond the state itself is bounded by the largest single record.
//
// Package fsm uses it for Raft's snapshots, cmd/rmd for backups. It depends on the state only: it
// knows neither Raft nor files. Begin with format.go.
package snapshot
