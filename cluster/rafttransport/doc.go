// Package rafttransport lies between raft and the transport that carries its requests.
//
//	raft ◀─▶ Transport (check, repair, retry) ◀─▶ the library's network transport ◀─▶ other replicas
//
// It relays requests in both directions and keeps their order. It can mute a leader whose disk
// hangs, refuse entries while the disk is full, and inject requests of this replica. It remembers
// what each follower acknowledged, and stops sending to a follower whose log was rolled back.
//
// A Transport outlives one raft instance: it has no Close method that raft could call, so it
// survives a restart in place.
//
// Most of the other files each work around one behavior of hashicorp/raft v1.8.0. Such a file is
// named after the library's issue (raft612_…), or after a number of ours if there is no issue
// (raft_w1_…). cluster/DESIGN.md lists them all.
//
// The package accesses its replica through three interfaces: Replica, Log and Snapshots.
package rafttransport
