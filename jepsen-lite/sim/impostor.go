package sim

import (
	"context"
	"crypto/ed25519"

	"github.com/hashicorp/raft"
)

// What a host needs that is no member's: it says that it is another server, and tries everything.

// impersonate lets a host say that it is a server of the cluster of another host.
func (h *host) impersonate(server string, key ed25519.PrivateKey, of *host) {
	_, cluster := of.identity()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server, h.cluster, h.key = server, cluster, key
}

// serves reports whether a host answers a method.
func (h *host) serves(method byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handlers[method] != nil
}

// lifetime ends with the process of the host.
func (h *host) lifetime() context.Context { return h.running }

// offerSnapshot sends a snapshot that does not count as one.
func (h *host) offerSnapshot(to string, q *raft.InstallSnapshotRequest, data []byte) error {
	return h.ask(to, q, new(raft.InstallSnapshotRequest), &raft.InstallSnapshotResponse{}, data)
}
