package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/raftstore"
	"rmd/cluster/rafttransport"
	"rmd/internal/exitcode"
	"rmd/internal/failpoint"
)

// instance is one run of the library's Raft. A restart in place ends one and starts the next with
// the same stores, transport and FSM.
type instance struct {
	raft   *raft.Raft
	ctx    context.Context // ends after raft has stopped
	cancel context.CancelFunc
	notify chan bool
	events chan raft.Observation
	obs    *raft.Observer
	wg     sync.WaitGroup // the leadership watcher, and the one of stop

	interrupt func() // ends raft's calls in progress
}

// runs starts the library's Raft, and starts it again in place.
type runs struct {
	*core
	lead       *leaderships
	restarting sync.Mutex               // held during a restart in place
	installs   installWatch             // raft697_install.go
	divergent  atomic.Pointer[raft.Log] // the last entry of the log that the next restart in place drops
	dropping   atomic.Bool              // that restart is in progress
}

// commitTimeout is the longest time between two messages of the leader to a follower.
const commitTimeout = 100 * time.Millisecond

// raftConfig translates Config into the library's configuration.
func (r *runs) raftConfig(notify chan<- bool) *raft.Config {
	rc := raft.DefaultConfig()
	rc.LocalID = r.Identity().ServerID()
	rc.HeartbeatTimeout, rc.ElectionTimeout, rc.LeaderLeaseTimeout = r.cfg.Heartbeat, r.cfg.Election, r.cfg.Lease
	rc.CommitTimeout = commitTimeout // the fallback for lost commit notices
	if t := r.cfg.Options.CommitTimeout; t > 0 {
		rc.CommitTimeout = t
	}
	rc.MaxAppendEntries = 64
	rc.ShutdownOnRemove = false // watchMembership ends the process with an exit code of its own
	rc.TrailingLogs, rc.SnapshotInterval, rc.SnapshotThreshold = r.cfg.Trailing, r.cfg.SnapshotInterval, r.cfg.SnapshotThreshold
	rc.NoLegacyTelemetry = true
	rc.Logger = rafttransport.NewLibraryLogger(r.log.Named("raft"))
	rc.NotifyCh = notify
	return rc
}

// start starts raft with stores that were inspected. again means a restart in place: the FSM keeps
// its state.
func (r *runs) start(rep *raftstore.StartReport, again bool) error {
	if rep.Drop {
		first, _ := r.stores.Logs.FirstIndex()
		last, _ := r.stores.Logs.Tail()
		r.log.Warn("the log does not continue the snapshot: dropping the log", "first", first, "last", last, "snapshot", rep.Snapshot.Index)
	}
	in := &instance{interrupt: r.interrupt, notify: make(chan bool, 8), events: make(chan raft.Observation, 64)}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	rc := r.raftConfig(in.notify)
	var snapIndex uint64
	if rep.Snapshot != nil {
		snapIndex = rep.Snapshot.Index
	}
	// Keep the FSM's state if it is ahead of the snapshot, so that the applied index never
	// decreases.
	if again && r.fsm.applied.Load() >= snapIndex {
		rc.NoSnapshotRestoreOnStart = true
		r.fsm.restarted(snapIndex)
	}
	// If a store fails in here, it ends its goroutine, so this must not be the caller's goroutine.
	done := make(chan struct{})
	err := errors.New("raft did not start")
	go func() {
		defer close(done)
		if rep.Drop {
			first, _ := r.stores.Logs.FirstIndex()
			last, _ := r.stores.Logs.Tail()
			_ = r.stores.Logs.DeleteRange(first, last)
		}
		in.raft, err = raft.NewRaft(rc, r.fsm, r.stores.Logs, r.stores.Stable, r.stores.Snapshots, r.transport)
	}()
	<-done
	if f := r.guard.Failure(); f != nil {
		err = &exitcode.Error{Code: r.guard.ExitCode(), Err: f}
	}
	if err != nil {
		if in.raft != nil {
			_ = in.raft.Shutdown().Error()
		}
		in.cancel()
		return fmt.Errorf("start raft: %w", err)
	}
	in.obs = raft.NewObserver(in.events, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.RaftState:
			return true
		}
		return false
	})
	in.raft.RegisterObserver(in.obs)
	r.mu.Lock()
	r.in = in
	r.mu.Unlock()
	in.wg.Go(func() { r.lead.watchLeadership(in) })
	return nil
}

// stopGrace is how long raft's calls in progress may take before stop interrupts them.
const stopGrace = 500 * time.Millisecond

// stop ends raft and then everything that waits for its futures. Raft waits for its calls, and
// those to a replica that is frozen, or whose machine has vanished, would take many seconds: each
// has the timeout of the transport, and heartbeats go on until the call with entries ends.
func (in *instance) stop() {
	in.raft.DeregisterObserver(in.obs)
	ended := make(chan struct{})
	in.wg.Go(func() {
		for {
			select {
			case <-time.After(stopGrace):
				in.interrupt()
			case <-ended:
				return
			}
		}
	})
	_ = in.raft.Shutdown().Error()
	close(ended)
	in.cancel()
	in.wg.Wait()
}

// restart ends raft and starts it again in place, which costs one election at most. Some states of
// the library end only in this way (hashicorp/raft #696, #697).
func (r *runs) restart(why string) {
	for !r.restarting.TryLock() { // not Lock: in virtual time the clock would stop while a goroutine waits for the lock
		if !r.pause(10 * time.Millisecond) {
			return
		}
	}
	defer r.restarting.Unlock()
	if r.guard.Failure() != nil || r.ctx.Err() != nil {
		return
	}
	r.log.Warn("restarting raft in place", "why", why)
	start := time.Now()
	r.current().stop()
	failpoint.Hit(failpoint.RestartStopped)
	rep, err := r.stores.Inspect()
	if err == nil {
		rep.Drop = r.takeDivergent() || rep.Drop
		err = r.start(rep, true)
	}
	if err != nil {
		r.guard.Fail(exitcode.Store, fmt.Errorf("restart of raft in place: %w", err))
		return
	}
	failpoint.Hit(failpoint.RestartStarted)
	r.counters.restarts.Add(1)
	r.observe(MeasureRestart, time.Since(start))
}
