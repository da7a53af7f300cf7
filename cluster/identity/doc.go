// Package identity defines the identity of a replica: its name, its cluster, and the key that
// proves the name.
//
// Raft knows a replica as ID.INCARNATION. The incarnation is the fingerprint of the replica's
// public key, so the membership also records the keys of the members. The package only defines
// data; raftstore stores it on disk.
package identity
