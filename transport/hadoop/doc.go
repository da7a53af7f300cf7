// Package hadoop serves Hadoop: the four ports of YARN's ResourceManager, for unmodified
// NodeManagers, ApplicationMasters, clients and `yarn rmadmin`.
//
// Every replica opens these ports. A change goes to the leader as an input, wherever the call
// arrives. A read comes from the replica's committed state, after the leader has said how far the
// replica must have applied the log.
//
// The parts: ipc is the framing and dispatch of calls, proto has the messages, token makes and
// checks tokens, wire converts values. tracker, master, client and admin answer the protocols.
// launcher starts AMs while this replica leads.
package hadoop
