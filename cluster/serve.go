package cluster

import (
	"context"
	"encoding/binary"

	"rmd/cluster/protocol"
	"rmd/cluster/rafttransport"
)

// serveAdmin registers all methods.
func (c *Cluster) serveAdmin() {
	protocol.Serve(c.peer, protocol.Info, func(_ context.Context, from string, _ protocol.None) (info, error) { return c.infoFor(from), nil })
	protocol.Serve(c.peer, protocol.Join, c.joinHere)
	protocol.Serve(c.peer, protocol.Adopt, func(ctx context.Context, from string, q adoptRequest) (protocol.None, error) {
		return protocol.None{}, c.adopt(ctx, from, q)
	})
	protocol.Serve(c.peer, protocol.Introduce, func(_ context.Context, from string, q introduction) (protocol.None, error) {
		return protocol.None{}, c.access.introduceHere(from, q)
	})
	protocol.Serve(c.peer, protocol.Admin, func(ctx context.Context, _ string, q adminRequest) (protocol.None, error) {
		return protocol.None{}, c.adminHere(ctx, q)
	})
	protocol.Serve(c.peer, protocol.Removed, func(_ context.Context, _ string, q removedNotice) (protocol.None, error) {
		return protocol.None{}, c.departures.removedHere(q)
	})
	protocol.Serve(c.peer, protocol.RolledBack, func(_ context.Context, from string, q rafttransport.Rollback) (protocol.None, error) {
		return protocol.None{}, c.rollbacks.logRolledBackHere(from, q)
	})
	protocol.Serve(c.peer, protocol.SetRole, func(_ context.Context, _ string, q string) (protocol.None, error) {
		return protocol.None{}, c.setRole(q)
	})
	protocol.Serve(c.peer, protocol.Move, func(ctx context.Context, from string, q moveRequest) (protocol.None, error) {
		return protocol.None{}, c.moveHere(ctx, from, q)
	})
	protocol.Serve(c.peer, protocol.Digest, func(ctx context.Context, _ string, q digestRequest) (digestReply, error) {
		return c.digestHere(ctx, q), nil
	})
	protocol.Serve(c.peer, protocol.Stop, func(_ context.Context, from string, q stopRequest) (protocol.None, error) {
		return protocol.None{}, c.digestStop(from, q)
	})
	c.peer.Handle(protocol.Committed, c.receiveCommitNotice)
	c.peer.Handle(protocol.Term, func(context.Context, string, []byte) ([]byte, error) {
		return binary.BigEndian.AppendUint64(nil, c.Term()), nil
	})
	c.peer.Handle(protocol.ReadIndex, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		if !c.IsLeader() {
			return nil, ErrNotLeader
		}
		index, err := c.readIndexHere(ctx)
		if err != nil {
			return nil, err
		}
		return binary.BigEndian.AppendUint64(nil, index), nil
	})
}
