// Package identity has the identity of a replica: its name, its cluster, and the key that proves
// the name.
//
// Raft knows a replica as ID.INCARNATION. The incarnation is the fingerprint of the replica's
// public key, so the membership is also the record of its members' keys. The package has data only;
// raftstore keeps it on disk.
package identity
