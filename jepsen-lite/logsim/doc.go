// Package logsim is the log-contract simulation: the pure core over a log that
// keeps its contract and nothing more.
//
// One goroutine plays everything: three replicas (package fsm over fsm/state), a
// leadership (leader.Core, the one that leads in the product), a fake log, and the
// parties that call: nodes, AMs, clients and an operator. The log orders, delays and refuses; it
// loses what was in flight or keeps a prefix of it when leadership moves; it appends a batch long
// after its leader has gone. Replicas fall behind, crash, lose their disks and are
// restored from snapshots at any index. Calls are lost, repeated with the same
// identity, doubled, reordered and delivered from the past.
//
//	party ─▶ wire ─▶ leadership ─▶ fake log ═▶ three machines ─▶ checker
//	                                               ▲ crash, snapshot, restore
//
// A run is a function of its seed: Result.Trace hashes every entry, every reply and
// every fault, and is the same again on any machine. The checker judges S1, S3 to
// S12 and S15; the recovery phase at the end (recovery.go) judges L3: all work that is left
// gets done and everything is given back.
//
// Raft, goroutines and real disks are not here: jepsen-lite/sim has them.
package logsim
