// Package rafttransport sits between raft and the transport that carries its requests.
//
//	raft ◀─▶ Transport (judge, repair, retry) ◀─▶ the library's network transport ◀─▶ other replicas
//
// It relays requests in both directions in their order. It can mute a leader whose disk hangs,
// refuse entries while the disk is full, and inject requests of this replica's own. It remembers
// what followers acknowledged, and stops sending to one whose log was rolled back.
//
// A Transport outlives one raft instance: it has no Close method for raft to call, so a restart in
// place keeps it.
//
// Most other files here work around one behavior of hashicorp/raft v1.8.0 each. A file is named by
// the number of the library's issue (raft612_…), or by a number of ours where there is none
// (raft_w1_…). cluster/DESIGN.md lists them all.
//
// The package knows the replica it belongs to through three interfaces of its own: Replica, Log and
// Snapshots.
package rafttransport
