package server

import (
	"context"
	"time"

	"rmd/cluster"
	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler/capacity"
	"rmd/scheduler/planner"
	"rmd/server/hadoop"
	"rmd/transport/forward"
	"rmd/transport/frontend"
)

// openSequencer creates the sequencer. It plans and proposes while this replica leads.
func (r *Replica) openSequencer() error {
	c := leader.DefaultConfig()
	c.Logger, c.Log, c.OnFatal = r.log.Named("leader"), r.parts.Log(raftLog{r.cluster}), r.fatal
	c.Now, c.Elapsed, c.Sure = r.clocks.now, r.parts.Elapsed, r.clocks.sure
	c.Entropy, c.MaxInFlight = r.parts.Entropy, r.parts.MaxInFlight
	c.Barrier = func(context.Context) error { return r.cluster.Barrier(barrierTimeout) }
	c.Confirm = r.cluster.Confirm
	c.Fork = func(term uint64) leader.Start {
		st, index, sequence := r.machine.Planning(term)
		return leader.Start{State: st, Index: index, Sequence: sequence}
	}
	c.Outcome = func(index uint64) (leader.Outcome, bool) {
		e, ok := r.machine.Entry(index)
		return leader.Outcome{Digest: e.Digest, Skipped: e.Skipped}, ok
	}
	options := planner.Options{Eager: r.opt.Config.Eager(), Level: r.parts.Level}
	c.NewPlanner = func(st *state.State) (leader.Planner, error) {
		p, err := planner.New(st, options)
		if err != nil {
			return nil, err
		}
		return r.parts.Planner(p), nil
	}
	if dir := r.opt.Config.HadoopConfDir; dir != "" {
		var err error
		if r.beats, err = hadoop.HeartbeatInterval(dir); err != nil {
			return err
		}
	}
	c.Expiry = r.expiry
	c.Observe = r.observeSequencer()
	var err error
	if r.seq, err = leader.New(c); err != nil {
		return err
	}
	r.cluster.WatchWork(r.sequencerWork)
	return nil
}

// sequencerWork says whether the sequencer gets on. While it waits until this replica has applied
// the log, that is progress.
func (r *Replica) sequencerWork() cluster.Work {
	done, hangs := r.seq.Progress()
	switch {
	case hangs == "" && r.cluster.IsLeader():
		hangs = "the sequencer does not know that this replica leads"
	case r.seq.Begins():
		done += r.cluster.AppliedIndex()
	}
	return cluster.Work{Done: done, Waiting: hangs}
}

// observeSequencer passes measurements of the sequencer to the metrics.
func (r *Replica) observeSequencer() leader.Observe {
	return leader.Observe{
		Batch:  r.metrics.ObserveBatch,
		Commit: r.metrics.ObserveCommit,
		Plan:   r.planned,
		Clock:  func(ahead time.Duration) { r.clockAhead.Store(int64(ahead)) },
		Wait:   r.metrics.ObserveReplyWait,
	}
}

// expiry returns the timeouts of nodes, AMs and unused containers in the current queue
// configuration.
func (r *Replica) expiry(st *state.State) leader.Expiry {
	v := st.Versions.Current()
	builtIn := leader.Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, ContainerMillis: 600_000, UntrackedMillis: 60_000,
		SilentMillis: r.silentMillis(1000, 2)}
	if v == nil {
		return builtIn
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failover.version != v.Version {
		cfg, err := capacity.ParseStored(frontend.Properties(v))
		if err != nil {
			return builtIn
		}
		r.failover.version = v.Version
		r.failover.expiry = leader.Expiry{NodeMillis: cfg.NodeExpiryMillis, AttemptMillis: cfg.AMExpiryMillis, ContainerMillis: cfg.ContainerAllocationExpiryMillis,
			UntrackedMillis: cfg.NodeUntrackedMillis, ManageMillis: cfg.ManageMillis,
			SilentMillis: r.silentMillis(cfg.NodeHeartbeatMillis, cfg.SkipNodeMultiplier)}
		r.failover.observes = cfg.Preemption.ObserveOnly
		if cfg.Preemption.Enabled {
			r.failover.expiry.PreemptionMillis = cfg.Preemption.IntervalMillis
		}
	}
	return r.failover.expiry
}

// silentMillis returns the time without heartbeats after which a node is silent. Nodes are told the
// interval in Hadoop's files of the replica that they call. If it differs from the interval in the
// queue configuration, the longer one counts, so that no node is silent between two heartbeats.
func (r *Replica) silentMillis(interval, multiplier int64) int64 {
	return multiplier * max(interval, r.beats.Milliseconds())
}

// openForwarder creates the forwarder to the leader.
func (r *Replica) openForwarder() error {
	c := forward.DefaultConfig()
	c.Logger, c.Sequencer, c.Peer = r.log.Named("forward"), r.seq, r.peer
	c.Leader = r.tracker.Leader
	c.WaitApplied = func(ctx context.Context, index uint64) error {
		r.cluster.Committed(index)
		return r.machine.WaitApplied(ctx, index)
	}
	c.Refuse, c.Hold = r.opt.Config.Standby == "refuse", r.opt.Config.StandbyHold
	var err error
	r.forwarder, err = forward.New(c)
	return err
}
