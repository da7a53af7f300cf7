package server

import (
	"context"
	"time"

	"rmd/cluster"
	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler/planner"
	"rmd/server/hadoop"
	"rmd/transport/forward"
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
		if r.expiry.heartbeats, err = hadoop.HeartbeatInterval(dir); err != nil {
			return err
		}
	}
	c.Expiry = r.expiry.of
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
