package rafttransport

import "github.com/hashicorp/raft"

// hashicorp/raft #695 (v1.8.0, raft.go: processHeartbeat; net_transport.go: handleCommand).
//
// Library: it answers heartbeats in the transport's goroutine, concurrently with its main loop.
// Such a heartbeat can raise the term after a candidate has voted for itself and before the vote is
// counted. Then one term has two leaders, and logs diverge.
// Guard: this transport keeps no heartbeat handler, so heartbeats wait for the main loop like every
// other request. The price: a heartbeat waits for a follower's disk write, so the election timeout
// must exceed the p99.9 of a sync.
// Test: TestNoHeartbeatHandler; TestTrap695 in cluster and in jepsen-lite/sim. About one simulated
// seed in 150 shows the bug with the handler, none without: RMD_SIM_FASTPATH=1 RMD_SIM_SEEDS=300 go
// test -run Trap695 -v ./cluster.
// Delete when: processHeartbeat runs in the main loop, and the simulation with the handler finds
// nothing.

// SetHeartbeatHandler ignores the handler, unless Config.HeartbeatFastPath is set.
func (tr *Transport) SetHeartbeatHandler(h func(raft.RPC)) {
	if tr.fast {
		tr.Transport.SetHeartbeatHandler(h)
	}
}
