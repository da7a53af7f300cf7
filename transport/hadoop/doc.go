// Package hadoop serves Hadoop's programs: the four ports of YARN's ResourceManager, for unmodified
// NodeManagers, ApplicationMasters, clients and `yarn rmadmin`.
//
// Every replica opens these ports. A change goes to the leader as an input, wherever the call
// arrives. A read is answered from the replica's committed state, after the leader has said up to
// which index the replica must have applied the log.
//
// Package ipc frames and dispatches calls, proto has the messages, token creates and checks tokens,
// and wire converts values. Packages tracker, master, client and admin implement the protocols.
// Package launcher starts AMs while this replica leads.
package hadoop
