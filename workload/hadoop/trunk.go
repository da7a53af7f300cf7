package hadoop

import (
	"context"
	"sync"

	"rmd/transport/hadoop/ipc"
)

// trunk is one connection that many nodes share, as no NodeManagers do: so few
// system calls carry the heartbeats of a cluster that is larger than the machine
// could hold connections of its own for.
type trunk struct {
	mu   sync.Mutex
	link link
}

// newTrunks makes the connections that nodes share; none when each has its own.
func newTrunks(r *run) []*trunk {
	out := make([]*trunk, min(r.cfg.Connections, r.cfg.Nodes))
	for i := range out {
		out[i] = &trunk{link: trackerLink(r, i)}
	}
	return out
}

// trunkOf is the one of a node; nil when it has a connection of its own. Nodes
// that are due one after the other share one.
func (r *run) trunkOf(i int) *trunk {
	if len(r.trunks) == 0 {
		return nil
	}
	return r.trunks[i*len(r.trunks)/r.cfg.Nodes]
}

// take gives the connection. The first of those for whom it has failed sees to
// another one.
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
