package rafttransport

import (
	"testing"

	"github.com/hashicorp/raft"
)

// TestNoHeartbeatHandler checks that the transport does not keep a heartbeat handler.
func TestNoHeartbeatHandler(t *testing.T) {
	h := &heartbeats{}
	w := over(t, &replica{}, h)
	defer w.Stop()
	w.SetHeartbeatHandler(func(raft.RPC) {})
	if h.handler != nil {
		t.Fatal("a heartbeat handler was kept")
	}
}

// heartbeats is a transport that keeps a heartbeat handler.
type heartbeats struct {
	fed
	handler func(raft.RPC)
}

// SetHeartbeatHandler keeps the handler.
func (h *heartbeats) SetHeartbeatHandler(f func(raft.RPC)) { h.handler = f }
