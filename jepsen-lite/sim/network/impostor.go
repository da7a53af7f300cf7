package network

import (
	"context"
	"crypto/ed25519"

	"github.com/hashicorp/raft"
)

// What a host needs that is no member's: it says that it is another server, and tries everything.

// Impersonate lets a host say that it is a server of the cluster of another host.
func (h *Host) Impersonate(server string, key ed25519.PrivateKey, of *Host) {
	_, cluster := of.identity()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server, h.cluster, h.key = server, cluster, key
}

// Serves reports whether a host answers a method.
func (h *Host) Serves(method byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handlers[method] != nil
}

// Lifetime ends with the process of the host.
func (h *Host) Lifetime() context.Context { return h.running }

// OfferSnapshot sends a snapshot that does not count as one.
func (h *Host) OfferSnapshot(to string, q *raft.InstallSnapshotRequest, data []byte) error {
	return h.ask(to, q, new(raft.InstallSnapshotRequest), &raft.InstallSnapshotResponse{}, data)
}
