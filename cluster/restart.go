package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/raftstore"
	"rmd/cluster/rafttransport"
	"rmd/internal/exitcode"
	"rmd/internal/failpoint"
)

// runs starts the library's Raft, and starts it again in place.
type runs struct {
	*local.Replica
	lead       *leading.Watch
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
	rc.HeartbeatTimeout, rc.ElectionTimeout, rc.LeaderLeaseTimeout = r.Config.Heartbeat, r.Config.Election, r.Config.Lease
	rc.CommitTimeout = commitTimeout // the fallback for lost commit notices
	if t := r.Config.Options.CommitTimeout; t > 0 {
		rc.CommitTimeout = t
	}
	rc.MaxAppendEntries = 64
	rc.ShutdownOnRemove = false // watchMembership ends the process with an exit code of its own
	rc.TrailingLogs, rc.SnapshotInterval, rc.SnapshotThreshold = r.Config.Trailing, r.Config.SnapshotInterval,
		r.Config.SnapshotThreshold
	rc.NoLegacyTelemetry = true
	rc.Logger = rafttransport.NewLibraryLogger(r.Log.Named("raft"))
	rc.NotifyCh = notify
	return rc
}

// start starts raft with stores that were inspected. again means a restart in place: the FSM keeps
// its state.
func (r *runs) start(rep *raftstore.StartReport, again bool) error {
	if rep.Drop {
		first, _ := r.Stores.Logs.FirstIndex()
		last, _ := r.Stores.Logs.Tail()
		r.Log.Warn("the log does not continue the snapshot: dropping the log", "first", first, "last", last, "snapshot",
			rep.Snapshot.Index)
	}
	in := &local.Instance{Interrupt: r.Interrupt, Notify: make(chan bool, 8), Events: make(chan raft.Observation, 64)}
	in.Context, in.Cancel = context.WithCancel(context.Background())
	rc := r.raftConfig(in.Notify)
	var snapIndex uint64
	if rep.Snapshot != nil {
		snapIndex = rep.Snapshot.Index
	}
	// Keep the FSM's state if it is ahead of the snapshot, so that the applied index never
	// decreases.
	if again && r.FSM.Applied.Load() >= snapIndex {
		rc.NoSnapshotRestoreOnStart = true
		r.FSM.Restarted(snapIndex)
	}
	// If a store fails in here, it ends its goroutine, so this must not be the caller's goroutine.
	done := make(chan struct{})
	err := errors.New("raft did not start")
	go func() {
		defer close(done)
		if rep.Drop {
			first, _ := r.Stores.Logs.FirstIndex()
			last, _ := r.Stores.Logs.Tail()
			_ = r.Stores.Logs.DeleteRange(first, last)
		}
		in.Raft, err = raft.NewRaft(rc, r.FSM, r.Stores.Logs, r.Stores.Stable, r.Stores.Snapshots, r.Transport)
	}()
	<-done
	if f := r.Guard.Failure(); f != nil {
		err = &exitcode.Error{Code: r.Guard.ExitCode(), Err: f}
	}
	if err != nil {
		if in.Raft != nil {
			_ = in.Raft.Shutdown().Error()
		}
		in.Cancel()
		return fmt.Errorf("start raft: %w", err)
	}
	in.Observer = raft.NewObserver(in.Events, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.RaftState:
			return true
		}
		return false
	})
	in.Raft.RegisterObserver(in.Observer)
	r.SetCurrent(in)
	in.Wg.Go(func() { r.lead.Follow(in) })
	return nil
}

// restart ends raft and starts it again in place, which costs one election at most. Some states of
// the library end only in this way (hashicorp/raft #696, #697).
func (r *runs) restart(why string) {
	for !r.restarting.TryLock() { // not Lock: in virtual time the clock would stop while a goroutine waits for the lock
		if !r.Pause(10 * time.Millisecond) {
			return
		}
	}
	defer r.restarting.Unlock()
	if r.Guard.Failure() != nil || r.Context.Err() != nil {
		return
	}
	r.Log.Warn("restarting raft in place", "why", why)
	start := time.Now()
	r.Current().Stop()
	failpoint.Hit(failpoint.RestartStopped)
	rep, err := r.Stores.Inspect()
	if err == nil {
		rep.Drop = r.takeDivergent() || rep.Drop
		err = r.start(rep, true)
	}
	if err != nil {
		r.Guard.Fail(exitcode.Store, fmt.Errorf("restart of raft in place: %w", err))
		return
	}
	failpoint.Hit(failpoint.RestartStarted)
	r.Counters.Restarts.Add(1)
	r.Observe(MeasureRestart, time.Since(start))
}
