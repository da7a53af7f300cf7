package virtual

import (
	"bytes"
	"io"

	"github.com/hashicorp/raft"

	"rmd/cluster"
	"rmd/transport/forward"
)

var (
	_ cluster.Peer     = (*host)(nil)
	_ forward.Peer     = (*host)(nil)
	_ raft.Transport   = (*host)(nil)
	_ raft.WithPreVote = (*host)(nil)
)

// Consumer implements raft.Transport.
func (h *host) Consumer() <-chan raft.RPC { return h.ch }

// LocalAddr implements raft.Transport.
func (h *host) LocalAddr() raft.ServerAddress { return raft.ServerAddress(h.id) }

// AppendEntriesPipeline implements raft.Transport: requests go one by one.
func (h *host) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// AppendEntries implements raft.Transport.
func (h *host) AppendEntries(_ raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse) error {
	return h.ask(string(to), q, new(raft.AppendEntriesRequest), a, nil)
}

// RequestVote implements raft.Transport.
func (h *host) RequestVote(_ raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest, a *raft.RequestVoteResponse) error {
	return h.ask(string(to), q, new(raft.RequestVoteRequest), a, nil)
}

// RequestPreVote implements raft.WithPreVote.
func (h *host) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, q *raft.RequestPreVoteRequest, a *raft.RequestPreVoteResponse) error {
	return h.ask(string(to), q, new(raft.RequestPreVoteRequest), a, nil)
}

// InstallSnapshot implements raft.Transport.
func (h *host) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, q *raft.InstallSnapshotRequest, a *raft.InstallSnapshotResponse, data io.Reader) error {
	b, err := io.ReadAll(data)
	if err != nil {
		return err
	}
	h.net.mu.Lock()
	h.net.installs++
	h.net.install, h.net.data = q, b
	h.net.mu.Unlock()
	return h.ask(string(to), q, new(raft.InstallSnapshotRequest), a, bytes.NewReader(b))
}

// TimeoutNow implements raft.Transport.
func (h *host) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, q *raft.TimeoutNowRequest, a *raft.TimeoutNowResponse) error {
	return h.ask(string(to), q, new(raft.TimeoutNowRequest), a, nil)
}

// EncodePeer implements raft.Transport.
func (h *host) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }

// DecodePeer implements raft.Transport.
func (h *host) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler implements raft.Transport; nothing is kept.
func (h *host) SetHeartbeatHandler(func(raft.RPC)) {}
