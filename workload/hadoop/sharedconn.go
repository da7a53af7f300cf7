package hadoop

import (
	"context"
	"sync"

	"rmd/transport/hadoop/ipc"
)

// sharedConn is one connection that many nodes share. Real NodeManagers do not share connections.
// With shared ones, a load can have more nodes than the machine can have connections, and needs fewer
// system calls.
type sharedConn struct {
	mu      sync.Mutex
	replica replicaConn
}

// newSharedConns returns the shared connections. The result is empty if each node has its own
// connection.
func newSharedConns(r *run) []*sharedConn {
	out := make([]*sharedConn, min(r.cfg.Connections, r.cfg.Nodes))
	for i := range out {
		out[i] = &sharedConn{replica: trackerConn(r, i)}
	}
	return out
}

// sharedConnOf returns the shared connection of a node, or nil if each node has its own. Nodes that
// are due in succession share one.
func (r *run) sharedConnOf(i int) *sharedConn {
	if len(r.shared) == 0 {
		return nil
	}
	return r.shared[i*len(r.shared)/r.cfg.Nodes]
}

// take returns the connection. The first caller whose connection has failed makes a new connection.
func (t *sharedConn) take(ctx context.Context, failed *ipc.ClientConn) (*ipc.ClientConn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	switch {
	case t.replica.conn == nil:
		err = t.replica.dial(ctx)
	case t.replica.conn == failed:
		err = t.replica.move(ctx)
	}
	return t.replica.conn, err
}
