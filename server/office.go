package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"rmd/cluster"
	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/forward"
	"rmd/transport/http/v1/api"
)

// barrierTimeout bounds how long a new leader waits for what is in the log.
const barrierTimeout = 30 * time.Second

// follow carries changes of leadership to the parts that act on them.
func (r *Replica) follow(changes <-chan cluster.Leadership) {
	for l := range changes {
		r.tracker.Set(forward.Leader{Term: l.Term, Addr: l.Address, Here: l.IsLeader})
		r.mu.Lock()
		f := r.failover.follow(l, time.Now())
		r.mu.Unlock()
		if f != nil {
			r.log.Info("new leader", "leader", f.NewLeader, "term", f.Term, "without_leader_ms", fmt.Sprintf("%.1f", f.Millis), "before", f.OldLeader)
			r.metrics.ObserveFailover(time.Duration(f.Millis * float64(time.Millisecond)))
		}
		r.ready.follow(r.ctx, l)
		r.office(leader.Leadership{Term: l.Term, Here: l.IsLeader})
		if r.hadoop != nil {
			r.hadoop.follow(leader.Leadership{Term: l.Term, Here: l.IsLeader})
		}
		if l.IsLeader {
			term := l.Term
			r.wg.Go(func() { r.seed(term) })
		}
	}
}

// office opens or closes the sequencer, unless a restore keeps it closed.
func (r *Replica) office(l leader.Leadership) {
	r.mu.Lock()
	r.led = l
	if r.paused {
		l.Here = false
	}
	r.mu.Unlock()
	select {
	case r.offices <- l:
	case <-r.ctx.Done():
	}
}

// pause closes the office until the func returned is called.
func (r *Replica) pause() (resume func()) {
	r.mu.Lock()
	r.paused = true
	led := r.led
	r.mu.Unlock()
	r.office(led)
	return func() {
		r.mu.Lock()
		r.paused = false
		led := r.led
		r.mu.Unlock()
		r.office(led)
	}
}

// seed gives a new cluster its identity and first queues, as soon as it has a
// leader: this one.
func (r *Replica) seed(term uint64) {
	for r.ctx.Err() == nil && r.cluster.IsLeader() && r.cluster.Term() == term {
		if _, ok := r.seq.Leading(); !ok {
			r.sleep(2 * time.Millisecond)
			continue
		}
		if st, _ := r.machine.Fork(); st.Meta.ClusterID != "" {
			r.noteRecovery()
			return
		}
		props, err := r.firstQueues()
		if err != nil {
			r.log.Error("the queue configuration cannot be read; the cluster stays without queues", "error", err)
			return
		}
		in := &input.InitCluster{ClusterID: r.cluster.ClusterID(), ClusterTimestamp: time.Now().UnixMilli(), Properties: props,
			Entropy: make([]byte, 32)}
		rand.Read(in.Entropy) // never fails
		reply, _, err := r.seq.Do(r.ctx, input.Request{Input: in})
		switch {
		case err != nil:
			r.sleep(10 * time.Millisecond)
		case reply.Refused() != nil && reply.Refused().Reason != input.AlreadyDone:
			r.log.Error("the first queue configuration is refused", "error", reply.Refused(), "details", reply.Refused().Details)
			return
		default:
			r.log.Info("cluster initialized", "cluster", in.ClusterID)
			return
		}
	}
}

// noteRecovery writes a recovery by hand, which no log could take when it was
// done, into the audit.
func (r *Replica) noteRecovery() {
	id := r.cluster.Identity()
	if id.Recovered == nil {
		return
	}
	in := &input.Audit{Who: id.Recovered.By, From: id.ID + "'s disk", Action: "recover", Target: id.ClusterID, Result: "done at " + id.Recovered.At.Format(time.RFC3339)}
	_, _, err := r.seq.Do(r.ctx, input.Request{Input: in})
	if err == nil {
		err = r.cluster.RecoveryNoted()
	}
	if err != nil {
		r.log.Warn("the recovery is not in the audit yet; the next election tries again", "error", err)
	}
}

func (r *Replica) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.ctx.Done():
	}
}

// firstQueues are the properties of an explicit init, of Options, of Hadoop's
// files, or the built-in ones.
func (r *Replica) firstQueues() ([]input.Property, error) {
	var props []capacity.Property
	select {
	case props = <-r.seeds:
	default:
	}
	if props == nil {
		props = r.opt.Queues
	}
	if props == nil {
		var err error
		if props, err = QueuesOf(r.opt.Config.Hadoop); err != nil {
			return nil, err
		}
	}
	out := make([]input.Property, len(props))
	for i, p := range props {
		out[i] = input.Property(p)
	}
	return out, nil
}

// expiry reads how long nodes and AMs may be silent, and containers unused, from
// the configuration in force.
func (r *Replica) expiry(st *state.State) leader.Expiry {
	v := st.Version()
	builtIn := leader.Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, ContainerMillis: 600_000}
	if v == nil {
		return builtIn
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failover.version != v.Version {
		props := make([]capacity.Property, len(v.Properties))
		for i, p := range v.Properties {
			props[i] = capacity.Property{Name: p.Name, Value: p.Value}
		}
		cfg, err := capacity.Parse(props)
		if err != nil {
			return builtIn
		}
		r.failover.version = v.Version
		r.failover.expiry = leader.Expiry{NodeMillis: cfg.NodeExpiryMillis, AttemptMillis: cfg.AMExpiryMillis, ContainerMillis: cfg.ContainerAllocationExpiryMillis}
	}
	return r.failover.expiry
}

// tickDue says whether the planner has something to do for the passing of time
// alone that the leader's own timers do not look at.
func tickDue(st *state.State, now int64) bool {
	return lifetimesDue(st, now) || scheduler.KeysDue(st, now)
}

// lifetimesDue says whether some application has outlived its lifetime.
func lifetimesDue(st *state.State, now int64) bool {
	var due bool
	st.Apps.Each(func(_ uint32, a *state.App) bool {
		due = a.LifetimeMillis > 0 && !a.Shown().Ended() && now-a.SubmittedMillis >= a.LifetimeMillis
		return !due
	})
	return due
}

// failoversKept is how many elections are remembered, for those who look later.
const failoversKept = 16

// failoverClock measures how long the cluster was without a leader, as this
// replica saw it.
type failoverClock struct {
	old     string // the last leader known
	lost    time.Time
	last    *api.Failover
	seen    []api.Failover // the last failoversKept, oldest first
	since   time.Time      // the present leader's
	version uint64
	expiry  leader.Expiry
}

func (f *failoverClock) follow(l cluster.Leadership, now time.Time) *api.Failover {
	switch {
	case l.LeaderID == "":
		if f.lost.IsZero() {
			f.lost = now
		}
		return nil
	case l.LeaderID == f.old && f.lost.IsZero():
		return nil
	}
	out := &api.Failover{AtMillis: now.UnixMilli(), Term: l.Term, OldLeader: f.old, NewLeader: l.LeaderID}
	if !f.lost.IsZero() {
		out.Millis = float64(now.Sub(f.lost).Microseconds()) / 1000
	}
	first := f.old == ""
	f.old, f.lost, f.since = l.LeaderID, time.Time{}, now
	if first {
		return nil
	}
	f.last = out
	if len(f.seen) == failoversKept {
		f.seen = slices.Delete(f.seen, 0, 1)
	}
	f.seen = append(f.seen, *out)
	return out
}

// errNoLeader is what a wait for a leader ends with.
var errNoLeader = errors.New("no leader")

// AwaitLeader returns once a leader is known to this replica and the cluster is
// initialized.
func (r *Replica) AwaitLeader(ctx context.Context) error {
	for {
		l, changed := r.tracker.Leader()
		if l.Addr != "" || l.Here {
			if st, _ := r.machine.Fork(); st.Meta.ClusterID != "" {
				return nil
			}
		}
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errNoLeader, ctx.Err())
		}
	}
}
