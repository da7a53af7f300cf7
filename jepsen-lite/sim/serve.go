package sim

import (
	"context"
	"time"

	"rmd/jepsen-lite/sim/checker"
	"rmd/scheduler/input"
)

// What callers ask of the world: load.Cluster.

// callTimeout is how long a caller waits for the answer of one replica.
const callTimeout = 8 * time.Second

// Try makes a call once at a member. It returns false if the outcome is unknown.
func (w *world) Try(ctx context.Context, at int, req input.Request) (input.Reply, bool) {
	members := w.members()
	r := members[at%len(members)]
	l, up := r.currentProcess()
	if !up {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	l.host.Wake()
	// The replica works on a copy, as if the call had come over a wire.
	copied, err := input.DecodeRequest(input.EncodeRequest(nil, req))
	if err != nil {
		w.check.Fail("request of %T: %v", req.Input, err)
		return nil, false
	}
	reply, index, err := l.forwarder.Do(ctx, copied)
	l.host.Wake()
	if l.ctx.Err() != nil || err != nil {
		w.check.Unknown()
		return nil, false
	}
	applied, _ := l.machine.Applied()
	w.check.Acked(r.id, applied, req.Input, reply, index)
	if reply, err = input.DecodeReply(req.Input, input.EncodeReply(nil, reply)); err != nil {
		w.check.Fail("reply to %T: %v", req.Input, err)
		return nil, false
	}
	return reply, true
}

// Read makes a linearizable read as the ports of a replica do: it asks the leader for an index and
// waits until this replica has applied it. It returns the index of the state, or 0 if the read
// failed.
func (w *world) Read(ctx context.Context, at int) uint64 {
	floor := w.check.Shown()
	return w.readAt(ctx, at, checker.ReadLinear, floor,
		func(ctx context.Context, l *process) (uint64, error) { return l.cluster.ReadIndex(ctx) })
}

// ReadStale reads the state of a replica as soon as it is not older than what the session has seen.
func (w *world) ReadStale(ctx context.Context, at int, session uint64) uint64 {
	return w.readAt(ctx, at, checker.ReadStale, session,
		func(context.Context, *process) (uint64, error) { return session, nil })
}

func (w *world) readAt(ctx context.Context, number int, kind string, floor uint64,
	index func(context.Context, *process) (uint64, error)) uint64 {
	members := w.members()
	r := members[number%len(members)]
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
	w.check.Read(r.id, kind, floor, seen, st.Digest())
	return seen
}
