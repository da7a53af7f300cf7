package sim

import (
	"context"
	"time"

	"rmd/internal/sleep"
	"rmd/jepsen-lite/sim/checker"
)

// readers is the number of clients that only read.
const readers = 2

// reader reads from changing replicas. A linearizable read must return everything that any client
// has seen before it began; a stale read only what this reader has seen.
func (l *load) reader(c *caller) {
	session := uint64(0)
	for sleep.For(l.ctx, time.Duration(300+c.rng.Intn(1500))*time.Millisecond) {
		if c.rng.Intn(4) == 0 {
			c.at = c.rng.Intn(64)
		}
		if c.rng.Intn(2) == 0 {
			session = max(session, c.read(l.ctx))
		} else {
			session = max(session, c.readStale(l.ctx, session))
		}
	}
}

// read makes a linearizable read as the ports of a replica do: it asks the leader for an index and
// waits until this replica has applied it. It returns the index of the state, or 0 if the read
// failed.
func (c *caller) read(ctx context.Context) uint64 {
	floor := c.w.check.Shown()
	return c.readAt(ctx, checker.ReadLinear, floor, func(ctx context.Context, l *process) (uint64, error) { return l.cluster.ReadIndex(ctx) })
}

// readStale reads the state of a replica as soon as it is not older than what the session has seen.
func (c *caller) readStale(ctx context.Context, session uint64) uint64 {
	return c.readAt(ctx, checker.ReadStale, session, func(context.Context, *process) (uint64, error) { return session, nil })
}

func (c *caller) readAt(ctx context.Context, kind string, floor uint64, index func(context.Context, *process) (uint64, error)) uint64 {
	members := c.w.members()
	r := members[c.at%len(members)]
	l, up := r.currentProcess()
	if !up {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	l.host.Wake()
	var at uint64
	err := l.command(func() (err error) {
		at, err = index(ctx, l)
		return err
	})
	if err != nil || l.machine.WaitApplied(ctx, at) != nil {
		return 0
	}
	st, seen := l.machine.Fork()
	l.host.Wake()
	if l.ctx.Err() != nil {
		return 0
	}
	c.w.check.Read(r.id, kind, floor, seen, st.Digest())
	return seen
}
