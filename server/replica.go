package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/cluster"
	"rmd/config"
	"rmd/fsm"
	"rmd/fsm/state"
	"rmd/internal/descriptors"
	"rmd/internal/exitcode"
	"rmd/internal/job"
	"rmd/leader"
	"rmd/server/hadoop"
	"rmd/transport/forward"
	httpserver "rmd/transport/http"
	"rmd/transport/http/metrics"
)

// Replica is one running replica.
type Replica struct {
	opt         Options
	parts       Parts
	log         hclog.Logger
	certs       *config.Certificates // nil without TLS
	peer        Peer
	files       descriptors.Plan
	budget      *descriptors.Budget // for all connections except those to replicas
	cluster     *cluster.Cluster
	machine     *fsm.Machine
	seq         *leader.Sequencer
	forwarder   *forward.Forwarder
	rest        *httpserver.Server
	http        []net.Listener // the plain port first
	secure      net.Listener   // the listener in http that uses TLS; may be nil
	metrics     *metrics.Metrics
	jobs        *job.Registry
	ready       *readiness
	analyses    analyses
	samples     *samples         // nil if they are not saved
	hadoop      *hadoop.Services // nil if no directory with Hadoop's files is configured
	tracker     *forward.Tracker
	leaderships chan cluster.Leadership
	seeding     seeding
	expiry      expiryCache

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once

	clocks     clocks
	clockAhead atomic.Int64 // of the cluster's time, in nanoseconds; 0 if the difference is small

	mu       sync.Mutex
	failover *failoverClock
	paused   bool // a backup is being restored: nothing is planned
	led      cluster.Leadership
	answers  answerCache
	observer preemptionObserver
}

// Open starts a replica. If it fails, it stops everything that it has started.
func Open(opt Options) (*Replica, error) {
	r := &Replica{opt: opt, parts: opt.Parts.withDefaults(), log: opt.Logger, tracker: forward.NewTracker(),
		metrics:     metrics.New(opt.Version),
		jobs:        job.New(time.Now),
		leaderships: make(chan cluster.Leadership, 16), failover: &failoverClock{}}
	r.clocks.wall, r.clocks.elapsed = r.parts.Now, r.parts.Elapsed
	r.ctx, r.cancel = context.WithCancel(context.Background())
	// the others are registered by the parts that run them
	for _, name := range []job.Name{job.Certificates, job.Init, job.Reload} {
		r.jobs.Job(name)
	}
	if opt.LinesDropped != nil {
		r.metrics.CountDroppedLines(opt.LinesDropped)
	}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open starts the parts in order. Each part needs those before it.
func (r *Replica) open() error {
	for _, step := range []func() error{r.divideFiles, r.openPeer, r.openMachine, r.openCluster, r.openAnalyses,
		r.openSequencer, r.openForwarder, r.listenHTTP, r.openHadoop, r.openREST} {
		if err := step(); err != nil {
			return err
		}
	}
	r.serveQuestions()
	leadership := r.cluster.Leadership()
	r.wg.Go(func() { _ = r.seq.Run(r.ctx, r.leaderships) }) // returns when the context ends
	r.wg.Go(func() { r.follow(leadership) })
	r.wg.Go(func() { r.analyses.forecasts.Run(r.ctx) })
	if r.samples != nil {
		r.wg.Go(func() { r.samples.run(r.ctx) })
	}
	r.wg.Go(r.watchClocks)
	if r.certs != nil {
		r.wg.Go(r.watchCertificates)
	}
	if r.hadoop != nil {
		if err := r.hadoop.Listen(); err != nil {
			return err
		}
		r.wg.Go(func() { r.hadoop.Run(r.ctx) })
	}
	for _, l := range r.http {
		r.wg.Go(func() { r.serveHTTP(l) })
	}
	return nil
}

// fatal stops the replica's work and calls OnFatal.
func (r *Replica) fatal(code int, err error) {
	if code == exitcode.Diverged {
		r.metrics.CountDivergence()
	}
	if r.opt.OnFatal != nil {
		r.opt.OnFatal(code, err)
	}
}

// problem returns the problems of this replica that package cluster does not see, or "".
func (r *Replica) problem() string {
	var all []string
	for _, text := range []string{r.budget.Problem(), r.expired(time.Now())} {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// warning says what will become a problem of this replica if nobody acts, or returns "".
func (r *Replica) warning() string {
	var all []string
	for _, text := range []string{r.endSoon(), r.clocks.warning()} {
		if text != "" {
			all = append(all, text)
		}
	}
	r.mu.Lock()
	leads := r.led.IsLeader // only the leader's clock counts
	r.mu.Unlock()
	if ahead := time.Duration(r.clockAhead.Load()); leads && ahead != 0 {
		all = append(all, fmt.Sprintf("this machine's clock and the cluster's time differ by %s: set the clocks",
			ahead.Abs().Round(time.Millisecond)))
	}
	return strings.Join(all, "; ")
}

// Reloaded records the outcome of reading the configuration again.
func (r *Replica) Reloaded(err error) { _ = r.jobs.Job(job.Reload).Done(err) }

// ID returns the configured id of the replica.
func (r *Replica) ID() string { return r.opt.Config.ID }

// HTTPAddr returns the address of REST, or "" if REST is off. If there is a plain port, it is that
// one's address.
func (r *Replica) HTTPAddr() string {
	if len(r.http) == 0 {
		return ""
	}
	return r.http[0].Addr().String()
}

// PeerAddr returns the address at which the other replicas reach this one.
func (r *Replica) PeerAddr() string { return r.peer.Addr() }

// Cluster returns the Raft part of the replica.
func (r *Replica) Cluster() *cluster.Cluster { return r.cluster }

// Leading reports whether this replica plans inputs, and in which term.
func (r *Replica) Leading() (term uint64, ok bool) { return r.seq.Leading() }

// Machine returns the state machine, which has the committed state.
func (r *Replica) Machine() *fsm.Machine { return r.machine }

// Past returns the state at an earlier index. The caller must not change it.
func (r *Replica) Past(ctx context.Context, index uint64) (*state.State, error) {
	return r.analyses.past.At(ctx, index)
}

// Forwarder returns the forwarder that sends inputs to the leader. The ports of this replica use it
// too.
func (r *Replica) Forwarder() *forward.Forwarder { return r.forwarder }

// HandOver transfers leadership to another replica if this one leads.
func (r *Replica) HandOver(ctx context.Context) error {
	if !r.cluster.IsLeader() {
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- r.cluster.Transfer("") }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closePorts closes the ports of REST and of YARN concurrently. Each port gives the calls in
// progress a moment to end.
func (r *Replica) closePorts() error {
	var yarn, rest error
	var wg sync.WaitGroup
	if r.hadoop != nil {
		wg.Go(func() { yarn = r.hadoop.Close() })
	}
	if r.rest != nil {
		wg.Go(func() { rest = r.rest.Close() })
	}
	wg.Wait()
	for _, l := range r.http {
		_ = l.Close() // a listener that was never served is still open; for the others this has no effect
	}
	return errors.Join(yarn, rest)
}

// Close stops the replica. It does not change the membership or transfer leadership (HandOver
// does).
func (r *Replica) Close() error {
	var errs []error
	r.once.Do(func() {
		errs = append(errs, r.closePorts())
		r.analyses.close()
		r.cancel()
		if r.cluster != nil {
			errs = append(errs, r.cluster.Close())
		}
		if r.peer != nil {
			errs = append(errs, r.peer.Close())
		}
		r.wg.Wait()
	})
	return errors.Join(errs...)
}

// divideFiles divides the file descriptors of this replica among its parts, before it opens
// anything.
func (r *Replica) divideFiles() error {
	limit := r.opt.Files
	if limit == 0 {
		var err error
		if limit, err = descriptors.Limit(); err != nil {
			return err
		}
	}
	r.files = descriptors.Divide(limit)
	r.budget = descriptors.NewBudget(r.files, r.log.Named("files"))
	return nil
}
