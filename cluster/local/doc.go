// Package local is what the parts of one replica share: its configuration, its identity and stores, its
// connections, the raft that runs and the state machine. The parts, in package cluster and its other
// folders, embed *Replica. It makes no decisions of its own, and asks no other replica.
package local
