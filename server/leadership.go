package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rmd/api"
	"rmd/cluster"
)

// barrierTimeout bounds how long a new leader waits until the log is applied.
const barrierTimeout = 30 * time.Second

// follow passes changes of leadership to the parts of the replica.
func (r *Replica) follow(changes <-chan cluster.Leadership) {
	for l := range changes {
		r.tracker.Set(l)
		r.mu.Lock()
		_, decided := r.machine.Applied()
		f := r.failover.follow(l, decided, time.Now())
		r.mu.Unlock()
		if f != nil {
			r.log.Info("new leader", "leader", f.NewLeader, "term", f.Term, "without_leader_ms", fmt.Sprintf("%.1f", f.Millis),
				"before", f.OldLeader)
			r.metrics.ObserveFailover(time.Duration(f.Millis * float64(time.Millisecond)))
		}
		r.ready.follow(r.ctx, l)
		r.lead(l)
		if r.hadoop != nil {
			r.hadoop.Follow(r.ctx, l)
		}
		if l.IsLeader {
			term := l.Term
			r.wg.Go(func() { r.seed(term) })
		}
	}
}

// lead passes a leadership to the sequencer. During a restore it reports that this replica does not
// lead.
func (r *Replica) lead(l cluster.Leadership) {
	r.mu.Lock()
	r.led = l
	if r.paused {
		l.IsLeader = false
	}
	r.mu.Unlock()
	select {
	case r.leaderships <- l:
	case <-r.ctx.Done():
	}
}

// pause stops planning on this replica until resume is called.
func (r *Replica) pause() (resume func()) {
	r.mu.Lock()
	r.paused = true
	led := r.led
	r.mu.Unlock()
	r.lead(led)
	return func() {
		r.mu.Lock()
		r.paused = false
		led := r.led
		r.mu.Unlock()
		r.lead(led)
	}
}

// failoversKept is how many failovers are kept.
const failoversKept = 16

// failoverClock measures how long the cluster had no leader, as this replica sees it.
type failoverClock struct {
	old   string // the last known leader
	lost  time.Time
	last  *api.Failover  // the whole last interruption
	seen  []api.Failover // the last failoversKept, oldest first
	ended bool           // the leader after it decided something
	led   uint64         // the last term that this replica leads or led
	since time.Time      // since when
}

// follow takes a change of the leadership, and the term of the last decision.
func (f *failoverClock) follow(l cluster.Leadership, decided uint64, now time.Time) *api.Failover {
	if l.IsLeader && l.Term != f.led {
		f.led, f.since = l.Term, now
	}
	f.ended = f.ended || f.last != nil && f.last.Term == decided
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
	f.old, f.lost = l.LeaderID, time.Time{}
	if first {
		return nil
	}
	last := *out
	if !f.ended {
		last = out.After(f.last)
	}
	f.last, f.ended = &last, false
	if len(f.seen) == failoversKept {
		f.seen = slices.Delete(f.seen, 0, 1)
	}
	f.seen = append(f.seen, *out)
	return out
}

// errNoLeader means that a wait for a leader ended without one.
var errNoLeader = errors.New("no leader")

// AwaitLeader waits until this replica knows a leader and the cluster is initialized.
func (r *Replica) AwaitLeader(ctx context.Context) error {
	for {
		l, changed := r.tracker.Leader()
		if l.LeaderID != "" {
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
