package cluster

import (
	"context"
	"encoding/binary"

	"rmd/cluster/access"
	"rmd/cluster/protocol"
	"rmd/cluster/rafttransport"
)

// serveAdmin registers all methods.
func (c *Cluster) serveAdmin() {
	protocol.Serve(c.core.Peer, protocol.Info,
		func(_ context.Context, from string, _ protocol.None) (info, error) { return c.infoFor(from), nil })
	protocol.Serve(c.core.Peer, protocol.Join, c.joinHere)
	protocol.Serve(c.core.Peer, protocol.Adopt,
		func(ctx context.Context, from string, q adoptRequest) (protocol.None, error) {
			return protocol.None{}, c.adopt(ctx, from, q)
		})
	protocol.Serve(c.core.Peer, protocol.Introduce,
		func(_ context.Context, from string, q access.Introduction) (protocol.None, error) {
			return protocol.None{}, c.access.IntroduceHere(from, q)
		})
	protocol.Serve(c.core.Peer, protocol.Admin,
		func(ctx context.Context, _ string, q adminRequest) (protocol.None, error) {
			return protocol.None{}, c.adminHere(ctx, q)
		})
	protocol.Serve(c.core.Peer, protocol.Removed,
		func(_ context.Context, _ string, q removedNotice) (protocol.None, error) {
			return protocol.None{}, c.departures.removedHere(q)
		})
	protocol.Serve(c.core.Peer, protocol.RolledBack,
		func(_ context.Context, from string, q rafttransport.Rollback) (protocol.None, error) {
			return protocol.None{}, c.rollbacks.logRolledBackHere(from, q)
		})
	protocol.Serve(c.core.Peer, protocol.SetRole, func(_ context.Context, _ string, q string) (protocol.None, error) {
		return protocol.None{}, c.core.SetRole(q)
	})
	protocol.Serve(c.core.Peer, protocol.Move,
		func(ctx context.Context, from string, q moveRequest) (protocol.None, error) {
			return protocol.None{}, c.moveHere(ctx, from, q)
		})
	protocol.Serve(c.core.Peer, protocol.Digest,
		func(ctx context.Context, _ string, q digestRequest) (digestReply, error) {
			return c.digestHere(ctx, q), nil
		})
	protocol.Serve(c.core.Peer, protocol.Stop, func(_ context.Context, from string, q stopRequest) (protocol.None, error) {
		return protocol.None{}, c.digestStop(from, q)
	})
	c.core.Peer.Handle(protocol.Committed, c.notices.Receive)
	c.core.Peer.Handle(protocol.Term, func(context.Context, string, []byte) ([]byte, error) {
		return binary.BigEndian.AppendUint64(nil, c.Term()), nil
	})
	c.core.Peer.Handle(protocol.ReadIndex, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
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
