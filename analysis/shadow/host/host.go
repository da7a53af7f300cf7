// Package host runs a shadow beside a replica that follows the log.
package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/analysis/shadow"
	"rmd/api"
	"rmd/fsm"
	"rmd/internal/job"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
)

// Config is what a host takes from its replica.
type Config struct {
	ID      string // of the replica
	Eager   bool   // how the leader plans
	Machine *fsm.Machine
	Log     interface{ IsLeader() bool }
	Watch   func(after uint64) (view.Subscription, error) // the batches that Machine applies
	Now     func() time.Time
	Logger  hclog.Logger
	Job     *job.Job
}

// Host runs another queue configuration in parallel with the cluster while its replica is a follower.
// There is at most one shadow. It writes nothing to the log.
type Host struct {
	Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	run    *shadow.Shadow // nil if no shadow runs
	end    context.CancelFunc
	name   string
	warns  []string
	ended  string // why it ended; "" while it runs
	report *api.Shadow
}

// New returns a host without a shadow.
func New(c Config) *Host {
	s := &Host{Config: c}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends the shadow.
func (s *Host) Close() {
	s.cancel()
	s.wg.Wait()
}

// quietFor is the time without a commit after which a shadow advances its clock by itself. Its
// clock then stays this far behind the real one.
const quietFor = 2 * time.Second

// Start implements v1.Shadows.
func (s *Host) Start(properties []input.Property, in api.StartShadow) (*api.Shadow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && s.ended == "" {
		return nil, &api.Error{Code: api.CodeShadowRuns, Message: fmt.Sprintf("a shadow runs on replica %s already", s.ID),
			Remedy: "stop it with \"rmd shadow stop\", or choose another follower with --addr", Status: http.StatusConflict}
	}
	if s.Log.IsLeader() {
		return nil, &api.Error{Code: api.CodeShadowOnLeader,
			Message: fmt.Sprintf("replica %s is the leader, which plans for the cluster", s.ID),
			Remedy:  "start the shadow on a follower: --addr with its address", Status: http.StatusConflict}
	}
	o := shadow.DefaultOptions()
	o.Eager = s.Eager
	if in.BehindMillis != nil {
		o.BehindMillis = *in.BehindMillis
	}
	if in.Seed != 0 {
		o.Seed = in.Seed
	}
	st, index, _ := s.Machine.Planning(0)
	run, warns, err := shadow.New(st, index, properties, o)
	if err != nil {
		return nil, err
	}
	sub, err := s.Watch(index)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.run, s.end, s.name, s.warns, s.ended, s.report = run, cancel, in.Name, warns, "", nil
	_ = s.Job.Done(nil)
	s.wg.Go(func() { s.follow(ctx, run, sub) })
	s.Logger.Info("shadow started", "name", in.Name, "index", index)
	return s.show(), nil
}

// Show implements v1.Shadows.
func (s *Host) Show() *api.Shadow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.show()
}

func (s *Host) show() *api.Shadow {
	d := s.report
	switch {
	case d != nil:
	case s.run == nil:
		return &api.Shadow{Replica: s.ID, State: api.ShadowNone, Text: "There is no shadow on this replica."}
	default:
		d = s.run.Report()
	}
	d.Replica, d.Name, d.Warnings = s.ID, s.name, s.warns
	if s.ended != "" {
		d.State, d.Text = api.ShadowEnded, "Ended: "+s.ended+"."
	}
	return d
}

// Stop implements v1.Shadows. It returns the last report and drops it.
func (s *Host) Stop() (*api.Shadow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil && s.report == nil {
		return nil, &api.Error{Code: api.CodeNoShadow, Message: fmt.Sprintf("no shadow runs on replica %s", s.ID),
			Remedy: "see \"rmd shadow status\" of the other replicas, with --addr", Status: http.StatusNotFound}
	}
	if s.ended == "" {
		s.finish("it was stopped")
	}
	_ = s.Job.Done(nil) // the operator has seen how it ended
	d := s.show()
	s.run, s.report, s.ended = nil, nil, ""
	return d, nil
}

// finish ends the shadow and keeps its last report. The caller holds s.mu.
func (s *Host) finish(why string) {
	s.end()
	s.report, s.ended, s.run = s.run.Report(), why, nil
	s.Logger.Info("shadow ended", "name", s.name, "why", why)
}

// follow passes the batches that this replica applies to a shadow.
func (s *Host) follow(ctx context.Context, run *shadow.Shadow, sub view.Subscription) {
	for {
		wait, cancel := context.WithTimeout(ctx, quietFor)
		b, err := sub.Next(wait)
		quiet := wait.Err() != nil && ctx.Err() == nil
		cancel()
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		if s.run != run {
			s.mu.Unlock()
			return
		}
		why := s.take(run, b, err, quiet)
		if why != "" {
			s.finish(why)
		}
		s.mu.Unlock()
		if why != "" {
			return
		}
	}
}

// take passes a batch, or the time if quiet, to a shadow. It returns why the shadow must end, or
// "". A failure of the shadow does not affect the replica. The caller holds s.mu.
func (s *Host) take(run *shadow.Shadow, b view.Batch, err error, quiet bool) (why string) {
	defer func() {
		if v := recover(); v != nil {
			why = s.Job.Done(fmt.Errorf("a fault of the shadow: %v", v)).Error()
		}
	}()
	var old *problem.TooOldError
	switch {
	case s.Log.IsLeader():
		return "this replica became the leader"
	case errors.As(err, &old):
		return fmt.Sprintf(
			"this replica has restored a snapshot, or the shadow fell behind: the events before index %d are gone", old.Oldest)
	case quiet:
		err = run.Advance(s.Now().Add(-quietFor).UnixMilli())
	case err == nil:
		err = run.Apply(b.Index, b.Events)
		if e, ok := s.Machine.Entry(b.Index); err == nil && ok && e.Digest != run.LogDigest() {
			err = fmt.Errorf("its copy of the cluster's state differs at index %d; please report that", b.Index)
		}
	}
	if err != nil {
		return s.Job.Done(err).Error()
	}
	return ""
}
