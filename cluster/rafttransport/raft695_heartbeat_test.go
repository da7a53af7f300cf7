package rafttransport

import (
	"testing"

	"github.com/hashicorp/raft"
)

// TestNoHeartbeatHandler is the plain half of trap 695.
func TestNoHeartbeatHandler(t *testing.T) {
	h := &heartbeats{}
	w := over(t, &replica{}, h)
	defer w.Stop()
	w.SetHeartbeatHandler(func(raft.RPC) {})
	if h.handler != nil {
		t.Fatal("a heartbeat handler was kept")
	}
}

// heartbeats is a transport that would keep a heartbeat handler.
type heartbeats struct {
	fed
	handler func(raft.RPC)
}

// SetHeartbeatHandler keeps it.
func (h *heartbeats) SetHeartbeatHandler(f func(raft.RPC)) { h.handler = f }
