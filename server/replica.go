package server

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/hashicorp/go-hclog"

	"rmd/cluster"
	"rmd/config"
	"rmd/fsm"
	"rmd/fsm/state"
	"rmd/internal/descriptors"
	"rmd/internal/exitcode"
	"rmd/leader"
	"rmd/scheduler/capacity"
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
	certs       *config.Certificates // nil without tls
	peer        Peer
	files       descriptors.Plan
	budget      *descriptors.Budget // of the connections of everybody but the other replicas
	cluster     *cluster.Cluster
	machine     *fsm.Machine
	seq         *leader.Sequencer
	forwarder   *forward.Forwarder
	rest        *httpserver.Server
	http        []net.Listener // plain first
	secure      net.Listener   // the one of http with TLS, when there is one
	metrics     *metrics.Metrics
	ready       *readiness
	reasons     *reasons
	past        *historical
	causes      *causeCache
	forecasts   *forecasts
	shadows     *shadows
	hadoop      *hadoop.Frontend // nil without Hadoop's files
	tracker     *forward.Tracker
	leaderships chan cluster.Leadership
	seeds       chan []capacity.Property // of an explicit init, ahead of Options.Queues

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once

	mu       sync.Mutex
	failover *failoverClock
	paused   bool // nothing is planned while a backup is restored
	led      cluster.Leadership
	abouts   aboutCache
	observer preemptionObserver
}

// Open starts a replica. Everything it started is stopped again on an error.
func Open(opt Options) (*Replica, error) {
	r := &Replica{opt: opt, parts: opt.Parts.withDefaults(), log: opt.Logger, tracker: forward.NewTracker(),
		metrics:     metrics.New(opt.Version),
		leaderships: make(chan cluster.Leadership, 16), seeds: make(chan []capacity.Property, 1), failover: &failoverClock{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.shadows = &shadows{r: r}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open starts the parts, each resting on those before it.
func (r *Replica) open() error {
	for _, step := range []func() error{r.divideFiles, r.openPeer, r.openMachine, r.openCluster, r.openSequencer, r.openForwarder, r.openHadoop, r.openREST} {
		if err := step(); err != nil {
			return err
		}
	}
	r.serveQuestions()
	leadership := r.cluster.Leadership()
	r.wg.Go(func() { _ = r.seq.Run(r.ctx, r.leaderships) }) // it ends with the context
	r.wg.Go(func() { r.follow(leadership) })
	r.wg.Go(func() { r.forecasts.run(r.ctx) })
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

// fatal ends what this replica must not do any more, and tells its owner.
func (r *Replica) fatal(code int, err error) {
	if code == exitcode.Diverged {
		r.metrics.CountDivergence()
	}
	if r.opt.OnFatal != nil {
		r.opt.OnFatal(code, err)
	}
}

// ID is the replica's configured id.
func (r *Replica) ID() string { return r.opt.Config.ID }

// HTTPAddr is where REST listens, plain if it does; empty when it is turned off.
func (r *Replica) HTTPAddr() string {
	if len(r.http) == 0 {
		return ""
	}
	return r.http[0].Addr().String()
}

// PeerAddr is where the other replicas reach this one.
func (r *Replica) PeerAddr() string { return r.peer.Addr() }

// Cluster is the consensus part.
func (r *Replica) Cluster() *cluster.Cluster { return r.cluster }

// Leading says whether this replica plans inputs, and in which term it leads.
func (r *Replica) Leading() (term uint64, ok bool) { return r.seq.Leading() }

// Machine is the committed state.
func (r *Replica) Machine() *fsm.Machine { return r.machine }

// Past is the state as it was after an index, for reading.
func (r *Replica) Past(ctx context.Context, index uint64) (*state.State, error) {
	return r.past.at(ctx, index)
}

// Forwarder takes inputs to the leader, as the ports of this replica do.
func (r *Replica) Forwarder() *forward.Forwarder { return r.forwarder }

// HandOver gives leadership away, when this replica has it, within the context.
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

// closePorts ends the ports of REST and of YARN side by side: each gives calls in flight a moment.
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
	return errors.Join(yarn, rest)
}

// Close stops the replica. Membership is left alone; leadership is not handed
// over (HandOver does).
func (r *Replica) Close() error {
	var errs []error
	r.once.Do(func() {
		errs = append(errs, r.closePorts())
		if r.reasons != nil {
			r.reasons.close()
			r.past.close()
			r.causes.close()
		}
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

// divideFiles plans the file descriptors of this replica before anything takes one.
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
