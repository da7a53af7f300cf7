// Package hadoop serves Hadoop: the four ports of YARN's
// ResourceManager, which unmodified NodeManagers, ApplicationMasters, clients and
// `yarn rmadmin` call.
//
// Every replica opens them. What a call changes goes to the leader as an input,
// wherever it arrives; what it reads is read from the replica's committed state,
// after the leader was asked how far that must be. The parts: ipc is the wire,
// proto its messages, token who is believed, wire the words of both sides;
// tracker, master, client and admin answer the protocols; launcher starts AMs
// while this replica leads.
package hadoop
