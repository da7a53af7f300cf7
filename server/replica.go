package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/hashicorp/go-hclog"

	"rmd/cluster"
	"rmd/config"
	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/descriptors"
	"rmd/leader"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/server/rerun"
	"rmd/transport/forward"
	httpserver "rmd/transport/http"
	"rmd/transport/peer"
	"rmd/yarn"
)

// Options are what a replica needs besides its configuration.
type Options struct {
	Config config.Config
	// Origins say where the values of Config came from; nil: from the program.
	Origins map[string]config.Origin
	Version string
	Logger  hclog.Logger
	// Queues seeds a new cluster's queue configuration; nil: the files of
	// Config.Hadoop, or the built-in queues.
	Queues []capacity.Property
	// OnFatal is called once when the replica must not go on, with the exit code
	// for the supervisor. It should not return.
	OnFatal func(code int, err error)
	// Files is how many file descriptors this replica may use; 0 is the limit of the process.
	Files int
	// OwnToken is an administrator's access token that this process alone knows;
	// empty: there is none.
	OwnToken string
}

// Replica is one running replica.
type Replica struct {
	opt     Options
	log     hclog.Logger
	certs   *config.Certificates // nil without tls
	peer    *peer.Server
	files   descriptors.Plan
	budget  *descriptors.Budget // of the connections of everybody but the other replicas
	cluster *cluster.Cluster
	machine *fsm.Machine
	seq     *leader.Sequencer
	door    *forward.Door
	rest    *httpserver.Server
	http    []net.Listener // plain first
	secure  net.Listener   // the one of http with TLS, when there is one
	metrics *httpserver.Metrics
	ready   *readiness
	reasons *reasons
	past    *past
	whys    *whys
	hadoop  *hadoopDoor // nil without Hadoop's files
	tracker *forward.Tracker
	offices chan leader.Leadership
	seeds   chan []capacity.Property // of an explicit init, ahead of Options.Queues

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once

	mu       sync.Mutex
	failover *failoverClock
	paused   bool // office is kept closed while a backup is restored
	led      leader.Leadership
	abouts   aboutCache
}

// Open starts a replica. Everything it started is stopped again on an error.
func Open(opt Options) (*Replica, error) {
	r := &Replica{opt: opt, log: opt.Logger, tracker: forward.NewTracker(),
		metrics: httpserver.NewMetrics(opt.Version),
		offices: make(chan leader.Leadership, 16), seeds: make(chan []capacity.Property, 1), failover: &failoverClock{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open starts the parts, each resting on those before it.
func (r *Replica) open() error {
	for _, step := range []func() error{r.divideFiles, r.openPeer, r.openMachine, r.openCluster, r.openSequencer, r.openDoor, r.openHadoop, r.openREST} {
		if err := step(); err != nil {
			return err
		}
	}
	r.serveQuestions()
	leadership := r.cluster.Leadership()
	r.wg.Go(func() { _ = r.seq.Run(r.ctx, r.offices) }) // it ends with the context
	r.wg.Go(func() { r.follow(leadership) })
	if r.hadoop != nil {
		if err := r.hadoop.serve(); err != nil {
			return err
		}
	}
	for _, l := range r.http {
		r.wg.Go(func() { r.serveHTTP(l) })
	}
	return nil
}

func (r *Replica) openPeer() error {
	c := r.opt.Config
	p := peer.DefaultConfig()
	p.ClusterName, p.ID, p.Listen, p.Advertise, p.Logger = c.Cluster, c.ID, c.Raft.Listen, c.Raft.Advertise, r.log.Named("peer")
	p.ConnsMax, p.StrangersMax = min(p.ConnsMax, r.files.Members), min(p.StrangersMax, r.files.Unknown)
	p.FrameMax = entryMax // an input is smaller than what follows from it
	if c.TLS.On() {
		certs, err := config.OpenCertificates(c.TLS, c.Cluster, c.ID)
		if err != nil {
			return err
		}
		r.certs, p.TLS, p.FreshTLS = certs, certs.Peer(), certs.Peer
		r.measureCertificates()
	}
	var err error
	if r.peer, err = peer.Listen(p); err == nil && r.certs != nil {
		r.wg.Go(r.watchCertificates)
	}
	return err
}

func (r *Replica) openMachine() error {
	c := fsm.DefaultConfig()
	c.Logger, c.OnFatal = r.log.Named("fsm"), r.fatal
	c.AppliedIndex = func() uint64 {
		if r.cluster == nil {
			return 0
		}
		return r.cluster.AppliedIndex()
	}
	r.machine = fsm.New(c)
	r.reasons, r.past, r.whys = &reasons{}, &past{r: r}, newWhys(r)
	return nil
}

func (r *Replica) openCluster() error {
	k, c := clusterConfig(r.opt.Config), r.opt.Config
	k.Peer, k.FSM, k.Logger, k.OnFatal, k.Version = r.peer, r.machine, r.log.Named("cluster"), r.fatal, r.opt.Version
	k.Level = event.Level
	k.FeatureLevel = func() uint64 { st, _ := r.machine.Fork(); return uint64(st.Meta.Level) }
	k.VerifySnapshot, k.VerifyEntry = VerifySnapshot, r.machine.Verify
	k.CheckToken = r.checkToken
	if r.certs != nil {
		k.Revoked = r.certs.Revoked
	}
	k.Digest = r.digest
	k.Observe = r.measure
	k.AutopilotNow = r.autopilot
	k.Problem = r.budget.Problem
	var err error
	if r.cluster, err = cluster.Open(k); err != nil {
		return fmt.Errorf("replica %s: %w", c.ID, err)
	}
	r.ready = r.newReadiness()
	return nil
}

// entryMax bounds one entry. Inputs are bounded at the doors; what follows from
// one (a lost node with thousands of containers) must still fit.
const entryMax = 16 << 20

// clusterConfig carries the keys of rmd.yaml over to the consensus part.
func clusterConfig(c config.Config) cluster.Config {
	k := cluster.DefaultConfig()
	k.ID, k.ClusterName, k.DataDir, k.Advertise = c.ID, c.Cluster, c.Data, c.Raft.Advertise
	k.BootstrapExpect, k.AllowEven, k.Join = int(c.Raft.Expect), c.Raft.AllowEven, c.Raft.Join
	k.Heartbeat, k.Election, k.Lease = c.Raft.Heartbeat, c.Raft.Election, c.Raft.Lease
	k.SnapshotThreshold, k.SnapshotBytes = uint64(c.Raft.SnapshotThreshold), int64(c.Raft.SnapshotBytes)
	k.SnapshotInterval, k.Trailing = c.Raft.SnapshotInterval, uint64(c.Raft.Trailing)
	k.DiskReserve, k.DiskStop = uint64(c.Disk.Reserve), uint64(c.Disk.Stop)
	k.HungGiveUp, k.HungExit = c.Disk.GiveUpAt, c.Disk.ExitAt
	k.Autopilot = c.Autopilot
	k.EntryMax = entryMax
	return k
}

func (r *Replica) digest(index uint64) (uint64, []byte, bool) {
	at, d, ok := r.machine.DigestAt(index)
	return at, binary.BigEndian.AppendUint64(nil, d), ok
}

func (r *Replica) openSequencer() error {
	c := leader.DefaultConfig()
	c.Logger, c.Log, c.OnFatal = r.log.Named("leader"), raftLog{r.cluster}, r.fatal
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
	eager := r.opt.Config.Scheduling != "heartbeat"
	c.NewPlanner = func(st *state.State) (leader.Planner, error) {
		return scheduler.New(st, scheduler.Options{Eager: eager})
	}
	c.Expiry, c.Due = r.expiry, tickDue
	c.Observe = r.observeSequencer()
	var err error
	r.seq, err = leader.New(c)
	return err
}

func (r *Replica) openDoor() error {
	c := forward.DefaultConfig()
	c.Logger, c.Sequencer, c.Peer = r.log.Named("forward"), r.seq, r.peer
	c.Leader, c.WaitApplied = r.tracker.Leader, r.machine.WaitApplied
	c.Callers = func() bool { st, _ := r.machine.Fork(); return st.Meta.Level >= event.LevelAudit }
	c.Refuse, c.Hold = r.opt.Config.Standby == "refuse", r.opt.Config.Hold
	var err error
	r.door, err = forward.New(c)
	return err
}

func (r *Replica) openREST() error {
	c := httpserver.DefaultConfig()
	c.ID, c.Version, c.Logger = r.opt.Config.ID, r.opt.Version, r.log.Named("rest")
	c.Door, c.Reader, c.Metrics = r.door, reader{r.machine}, r.metrics
	c.Consensus, c.Snapshots, c.Log = consensus{r}, snapshots{r}, history{r}
	c.Explain = func(st *state.State, id yarn.ApplicationID) (any, error) { return r.reasons.explain(st, id) }
	c.Planning = func() *state.State { st, _, _ := r.machine.Planning(0); return st }
	c.WhatIf = whatIf
	c.Foresee = func(st *state.State, in *input.SubmitApplication) (any, error) {
		return scheduler.ExplainSubmission(st, in)
	}
	c.Past, c.Why, c.Warm = r.past.at, r.whys.of, r.reasons.warm
	c.Rerun = func(ctx context.Context, st *state.State) (any, error) { return rerun.Compare(ctx, history{r}, st) }
	c.Reason = r.reasons.of
	c.RefusalOf, c.Hosts = refusalOf, r.opt.Config.HTTP.Hosts
	c.Auth.Mode, c.Auth.Cluster, c.Auth.Member = r.opt.Config.HTTP.Auth, r.opt.Config.Cluster, r.isMember
	c.MaxPerAddress = int(r.opt.Config.HTTP.PerAddress)
	c.Auth.Rate, c.Auth.Burst = int(r.opt.Config.HTTP.Rate), int(r.opt.Config.HTTP.Burst)
	c.Auth.OwnToken = r.opt.OwnToken
	if r.certs != nil {
		c.Auth.Revoked = r.certs.Revoked
	}
	c.Profiles = r.opt.Config.HTTP.Pprof
	if r.opt.Config.HTTP.PublicWrites {
		c.Admit = admitOpen
	}
	for _, s := range config.Effective(r.opt.Config, r.opt.Origins) {
		c.Own = append(c.Own, httpserver.OwnSetting{Name: s.Path, Value: s.Value, About: s.About, Origin: s.Origin})
	}
	if r.hadoop != nil {
		c.Hadoop, c.Settings, c.Admin = r.hadoop.web, r.hadoop.files.settings, r.hadoop.access.Admin
	}
	var err error
	if r.rest, err = httpserver.New(c); err != nil {
		return err
	}
	return r.listenHTTP()
}

// whatIf asks the planner what another queue configuration would change.
func whatIf(st *state.State, props []input.Property, stop func() bool) (any, error) {
	limits := scheduler.DefaultWhatIfLimits()
	limits.Stop = stop
	return scheduler.WhatIf(st, props, limits)
}

// fatal ends what this replica must not do any more, and tells its owner.
func (r *Replica) fatal(code int, err error) {
	if code == fsm.ExitDiverged {
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

// Machine is the committed state.
func (r *Replica) Machine() *fsm.Machine { return r.machine }

// Past is the state as it was after an index, for reading.
func (r *Replica) Past(ctx context.Context, index uint64) (*state.State, error) {
	return r.past.at(ctx, index)
}

// Door takes inputs, as a front door of this replica does.
func (r *Replica) Door() *forward.Door { return r.door }

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
	var hadoop, rest error
	var wg sync.WaitGroup
	if r.hadoop != nil {
		wg.Go(func() { hadoop = r.hadoop.close() })
	}
	if r.rest != nil {
		wg.Go(func() { rest = r.rest.Close() })
	}
	wg.Wait()
	return errors.Join(hadoop, rest)
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
			r.whys.close()
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
