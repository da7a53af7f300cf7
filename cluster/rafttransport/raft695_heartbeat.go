package rafttransport

import "github.com/hashicorp/raft"

// hashicorp/raft #695 (v1.8.0, raft.go: processHeartbeat; net_transport.go: handleCommand).
//
// Library: it answers heartbeats in the transport's goroutine, beside its main loop. Such a
// heartbeat can raise the term between a candidate's vote for itself and its counting: two leaders
// of one term, and logs that diverge.
// Guard: no heartbeat handler is kept, so heartbeats queue for the main loop like every other
// request. The price: a heartbeat waits behind a follower's disk write, so the election timeout
// must exceed the p99.9 of a sync.
// Test: TestNoHeartbeatHandler; TestTrap695 in cluster and in jepsen-lite/sim. About one simulated
// seed in 150 shows it with the handler, none without: RMD_SIM_FASTPATH=1 RMD_SIM_SEEDS=300 go test
// -run Trap695 -v ./cluster.
// Delete when: processHeartbeat takes part in the main loop, and that run shows nothing with the
// handler.

// SetHeartbeatHandler keeps nothing, unless a simulation wants to see what the handler does.
func (tr *Transport) SetHeartbeatHandler(h func(raft.RPC)) {
	if tr.fast {
		tr.Transport.SetHeartbeatHandler(h)
	}
}
