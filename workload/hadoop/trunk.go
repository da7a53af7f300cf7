package hadoop

import (
	"context"
	"sync"

	"rmd/transport/hadoop/ipc"
)

// trunk is one connection that many nodes share. Real NodeManagers do not share connections. With
// trunks, a load can have more nodes than the machine can have connections, and needs fewer system
// calls.
type trunk struct {
	mu   sync.Mutex
	link link
}

// newTrunks returns the shared connections. The result is empty if each node has its own
// connection.
func newTrunks(r *run) []*trunk {
	out := make([]*trunk, min(r.cfg.Connections, r.cfg.Nodes))
	for i := range out {
		out[i] = &trunk{link: trackerLink(r, i)}
	}
	return out
}

// trunkOf returns the trunk of a node, or nil if each node has its own connection. Nodes that are
// due in succession share a trunk.
func (r *run) trunkOf(i int) *trunk {
	if len(r.trunks) == 0 {
		return nil
	}
	return r.trunks[i*len(r.trunks)/r.cfg.Nodes]
}

// take returns the connection. The first caller whose connection has failed makes a new connection.
func (t *trunk) take(ctx context.Context, failed *ipc.ClientConn) (*ipc.ClientConn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	switch {
	case t.link.conn == nil:
		err = t.link.dial(ctx)
	case t.link.conn == failed:
		err = t.link.move(ctx)
	}
	return t.link.conn, err
}
