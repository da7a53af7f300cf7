// Package server assembles one replica: the connections to the other replicas, Raft and its stores,
// the replicated state, the leader's sequencer, the forwarder, and the ports of REST and Hadoop. No
// other package does this. It contains no scheduling rules.
//
//	REST, Hadoop ─▶ forward.Forwarder ─▶ leader.Sequencer ─▶ cluster (Raft) ─▶ fsm.Machine
//
// Open (replica.go) opens the parts in this order: peers.go, raft.go, sequencer.go, hadoop.go,
// http.go. leadership.go informs them about changes of leadership, bootstrap.go gives a new cluster
// its first queues, and ready.go decides when a follower is ready. Package server/hadoop assembles
// the services of YARN's ports.
//
// `rmd server` runs one Replica, and `rmd replay` may run several. The tests of whole clusters start and
// kill replicas. The simulation runs them in virtual time: Parts replaces clock, disk and network.
package server
