package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rmd/cluster"
	"rmd/internal/sleep"
)

const (
	readyTimeout = 2 * time.Second // of one request to the leader
	readyPause   = 20 * time.Millisecond
)

// readiness decides whether a follower is ready: it must have applied what the leader had committed
// when this replica began to follow it. A replica that starts replays its log from its last
// snapshot, and its state is outdated until then although it knows a leader. readiness starts again
// for each leadership, so a replica that was cut off is not ready as soon as it hears from a leader
// again. While no leader can prove its leadership, no follower is ready.
type readiness struct {
	committed func(context.Context) (uint64, error) // the leader's commit index, after the leader has proved that it leads
	reached   func(context.Context, uint64) error   // waits until an index is applied here
	applied   func() uint64
	spawn     func(func()) // starts a goroutine for which the replica waits

	mu     sync.Mutex
	cancel context.CancelFunc // ends the current search; nil if none is running
	target uint64             // the index that must be applied; 0 if unknown
	done   bool
}

// newReadiness returns the readiness of an open replica.
func (r *Replica) newReadiness() *readiness {
	return &readiness{committed: r.cluster.ReadIndex, reached: r.machine.WaitApplied,
		applied: func() uint64 { index, _ := r.machine.Applied(); return index }, spawn: func(f func()) { r.wg.Go(f) }}
}

// follow starts a search for a new leadership, and ends the previous one. ctx ends when the replica
// closes.
func (y *readiness) follow(ctx context.Context, l cluster.Leadership) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.cancel != nil {
		y.cancel()
	}
	y.cancel, y.target, y.done = nil, 0, false
	if l.LeaderID == "" || l.IsLeader {
		return
	}
	ctx, y.cancel = context.WithCancel(ctx)
	y.spawn(func() { y.search(ctx) })
}

// search asks the leader for its commit index until it answers, and waits until this index is
// applied here.
func (y *readiness) search(ctx context.Context) {
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, readyTimeout)
		index, err := y.committed(asking)
		cancel()
		if err == nil && y.found(ctx, index, false) && y.reached(ctx, index) == nil {
			y.found(ctx, index, true)
			return
		}
		sleep.For(ctx, readyPause)
	}
}

// found records the result of a search. It returns false if the search has been cancelled.
func (y *readiness) found(ctx context.Context, index uint64, done bool) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	y.target, y.done = index, done
	return true
}

// verdict reports whether a follower is ready, and if not, why not.
func (y *readiness) verdict() (ok bool, why string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch {
	case y.done:
		return true, ""
	case y.target == 0:
		return false, "catching up: the leader has not told yet what is committed"
	}
	return false, fmt.Sprintf("catching up: applied to index %d of %d", y.applied(), y.target)
}
