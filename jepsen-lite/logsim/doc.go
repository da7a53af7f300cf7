// Package logsim simulates the deterministic core of rmd over a log that promises no more than Raft
// does.
//
// One goroutine plays everything: three replicas (package fsm over fsm/state), a leadership
// (leader.Core, the product's own), a fake log, and the callers: nodes, AMs, clients and an
// operator. The log orders, delays and refuses entries. When leadership moves, it loses entries in
// flight or keeps a prefix of them. It may append a batch long after its leader has gone. Replicas
// fall behind, crash, lose their disks and are restored from snapshots at any index. Calls are
// lost, repeated with the same identity, duplicated, reordered and delivered late.
//
//	caller ─▶ wire ─▶ leadership ─▶ fake log ═▶ three machines ─▶ checker
//	                                               ▲ crash, snapshot, restore
//
// A run is a function of its seed: Result.Trace hashes every entry, every reply and every fault,
// and is the same on every machine. The checker checks S1, S3 to S12, S15 and S17 to S20. The
// recovery phase at the end (recovery.go) checks L2, L3, L4 and L6: the replicas reach the end of
// the log, all remaining work ends, all resources are returned, nodes stay registered, and no
// warning outlives its deadline for long. jepsen-lite/README.md lists the invariants.
//
// Raft, goroutines and real disks are not simulated here: jepsen-lite/sim does that. Begin with
// world.go.
package logsim
