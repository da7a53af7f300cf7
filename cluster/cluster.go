package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
	"rmd/cluster/rafttransport"
	"rmd/cluster/succession"
	"rmd/internal/exitcode"
)

// Cluster is the Raft part of one replica. Its methods may be called from any goroutine.
//
// Goroutines: those of raft; the watchers that Open starts, which end with ctx and for which Close
// waits; and one for each task that must not run inside a callback (goRun).
type Cluster struct {
	cfg  Config
	log  hclog.Logger
	peer Peer

	dir       *raftstore.Dir
	guard     *raftstore.Guard
	stores    *raftstore.Stores
	network   raft.Transport           // the library's transport, or a simulation's
	transport *rafttransport.Transport // wraps network with the work-arounds; raft uses this one
	fsm       *machine

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.RWMutex
	in       *instance // the running raft; a restart in place replaces it
	stopping bool

	restarting sync.Mutex               // held during a restart in place
	installs   installWatch             // raft697_install.go
	divergent  atomic.Pointer[raft.Log] // the last entry of the log that the next restart in place drops
	dropping   atomic.Bool              // that restart is in progress
	transfers  transferGate             // raft696_transfer.go
	progress   progressWatch
	steps      stepDowns

	lead       leadershipHub
	succession *succession.Succession
	reads      readBatcher
	commits    commitNotifier // the leader's side of commit notices
	notices    noticeBox      // the follower's side
	snapshots  chan struct{}  // the one snapshot request that waits for raft holds it

	conf       confState
	introduced introductions
	pilot      *pilot

	jobs   jobs
	reach  reach
	awaits atomic.Value // string: see Awaits

	counters       counters
	refusalLogged  atomic.Int64 // when the last refusal of entries was logged, in Unix nanoseconds
	foreignCluster atomic.Bool  // it was logged that the other replicas belong to another cluster or epoch

	diskFree    atomic.Uint64
	full        atomic.Bool // the free space is below the stop level
	handingOver atomic.Bool // a leadership transfer because of low disk space is in progress
}

// Open opens and checks the data directory and starts raft. A replica without state then waits
// until Init, Join or BootstrapExpect gives it one. If an error determines the exit code, it is an
// *exitcode.Error.
func Open(cfg Config) (*Cluster, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, log: cfg.Logger.Named("cluster"), peer: cfg.Peer, commits: newCommitNotifier(), notices: newNoticeBox(), snapshots: make(chan struct{}, 1),
		jobs: newJobs(cfg.Jobs), reach: newReach()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.guard = raftstore.NewGuard(raftstore.GuardConfig{Logger: c.log, OnFatal: c.fatal, SlowWrite: cfg.Election,
		OnWrite: func(took time.Duration) { c.observe(MeasureSync, took) }})
	if err := c.open(); err != nil {
		c.cancel()
		return nil, err
	}
	return c, nil
}

// open does the work of Open. On failure it closes what it has opened.
func (c *Cluster) open() (err error) {
	if err := c.openDir(); errors.Is(err, raftstore.ErrDamaged) {
		return &exitcode.Error{Code: exitcode.Store, Err: fmt.Errorf("start check: %w", err)}
	} else if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.dir.Close(false))
		}
	}()
	if r := c.Identity().Removed; r != nil {
		return &exitcode.Error{Code: exitcode.Removed, Err: fmt.Errorf("%w by %s at %s", ErrRemoved, r.By, r.At.Format(time.RFC3339))}
	}
	if c.stores, err = raftstore.Open(c.dir, c.cfg.Options.stores(), c.guard, c.cfg.VerifySnapshot, c.log.Named("snapshots")); err != nil {
		if errors.Is(err, raftstore.ErrDamaged) {
			err = &exitcode.Error{Code: exitcode.Store, Err: fmt.Errorf("start check: %w", err)}
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stores.Close())
		}
	}()
	rep, err := c.stores.Inspect()
	if errors.Is(err, raftstore.ErrNewer) {
		return err
	} else if err != nil {
		return &exitcode.Error{Code: exitcode.Store, Err: fmt.Errorf("start check: %w", err)}
	}
	if rep.Term > 0 {
		c.dir.MarkUsed(c.log)
	}
	c.stores.Stable.OnTermStored = func() { c.dir.MarkUsed(c.log) }
	c.report(rep)
	c.stores.Snapshots.OnFinished, c.stores.Snapshots.OnFailed = c.snapshotMade, c.snapshotFailed
	c.stores.Logs.OnStored = c.notices.recheck
	c.fsm = newMachine(c.cfg.FSM, c.configurationApplied, c.snapshotFailed)
	c.conf.init(rep.Snapshot)
	c.openTransport()
	if err := c.start(rep, false); err != nil {
		c.closeTransport()
		return err
	}
	c.openPeer()
	c.startWatchers()
	return nil
}

// openDir opens the data directory, or creates an identity in memory if there is none.
func (c *Cluster) openDir() error {
	want := identity.Identity{ID: c.cfg.ID, ClusterName: c.cfg.ClusterName}
	if c.cfg.DataDir == "" {
		want.Incarnation, want.ClusterID = c.cfg.Options.Incarnation, c.cfg.Options.ClusterID
		if want.Incarnation == "" {
			want.Incarnation = randomHex(8)
		}
		if kept := c.cfg.Options.Identity; kept != nil {
			want = *kept
		}
		if want.Trust.Seed == nil { // only in simulations, where no replica has to prove its name
			seed := sha256.Sum256([]byte(want.ServerID()))
			want.Trust.Seed = seed[:]
		}
		c.dir = raftstore.MemoryDir(want, c.cfg.Options.KeepIdentity)
		return nil
	}
	var err error
	if c.dir, err = raftstore.OpenDir(c.cfg.DataDir, want); err != nil {
		return err
	}
	raftstore.RemoveLeftovers(c.cfg.DataDir, c.log)
	free, err := c.free()
	if err == nil && free < c.cfg.DiskStop {
		err = &exitcode.Error{Code: exitcode.DiskFull, Err: fmt.Errorf("disk is full: %d bytes free, disk.stop is %d; free some space", free, c.cfg.DiskStop)}
	}
	if err == nil && c.dir.Unclean {
		c.log.Warn("the last process was not stopped cleanly: checking the store")
		if cerr := c.dir.CheckLog(); cerr != nil {
			err = &exitcode.Error{Code: exitcode.Store, Err: fmt.Errorf("store check: %w", cerr)}
		}
	}
	if err != nil {
		return errors.Join(err, c.dir.Close(false))
	}
	c.diskFree.Store(free)
	return nil
}

// report logs what the start check found.
func (c *Cluster) report(rep *raftstore.StartReport) {
	for _, b := range rep.BadSnapshot {
		c.log.Error("ignoring a damaged snapshot", "snapshot", b)
	}
	var snap uint64
	if rep.Snapshot != nil {
		snap = rep.Snapshot.Index
	}
	c.log.Info("data checked", "replica", c.Identity().ServerID(), "snapshot", snap, "first", rep.First, "last", rep.Last)
	if ahead := time.Until(rep.LastAt); ahead > clockMax {
		c.log.Warn("the clock is behind the time of the newest entry", "by", ahead.Round(time.Second))
	}
	switch {
	case c.cfg.BootstrapExpect > 0 && rep.Last > 0:
		c.log.Info("ignoring bootstrap_expect: this replica has state", "bootstrap_expect", c.cfg.BootstrapExpect)
	case c.cfg.BootstrapExpect == 1:
		c.log.Warn("bootstrap_expect is 1: a single replica tolerates no failure")
	}
}

// clockMax is how far the time of the newest entry may be in the future without a warning.
const clockMax = time.Hour

// openTransport wraps the network transport with the work-arounds and starts it.
func (c *Cluster) openTransport() {
	c.network = c.cfg.Options.Transport
	if c.network == nil {
		c.network = c.peer.Transport(max(transportTimeout, 2*c.cfg.Election), c.log.Named("transport"))
	}
	c.transport = rafttransport.New(rafttransport.Config{Transport: c.network, Replica: raftView{c}, Log: c.stores.Logs, Snapshots: c.stores.Snapshots,
		Logger: c.log, HeartbeatFastPath: c.cfg.Options.HeartbeatFastPath})
	sc := succession.Config{Server: c.Identity().ServerID(), Heartbeat: c.cfg.Heartbeat, Replica: raftView{c}, Transport: c.transport, Caller: c.network,
		Logger: c.log, Go: c.goRun, OnSuccessor: c.successorFound}
	if c.peer != nil {
		sc.Peers = c.peer
	}
	c.succession = succession.New(c.ctx, sc)
	c.transport.Start()
}

// transportTimeout bounds one Raft request. A follower's answer includes its disk writes.
const transportTimeout = 5 * time.Second

// interrupt ends raft's calls in progress, if the transport can.
func (c *Cluster) interrupt() {
	if t, ok := c.network.(interface{ Interrupt() }); ok {
		t.Interrupt()
	}
}

func (c *Cluster) closeTransport() {
	c.transport.Stop()
	if t, ok := c.network.(raft.WithClose); ok && c.cfg.Options.Transport == nil {
		_ = t.Close()
	}
}

// openPeer tells the peer transport who this replica is and serves the admin protocol.
func (c *Cluster) openPeer() {
	if c.peer == nil {
		return
	}
	c.serveAdmin()
	c.peer.SetGate(c.admitConn, c.authorizeCall, c.authorizeAnswer, func(server string) bool { return c.trusts(raft.ServerID(server)) })
	c.identify()
	c.watchPeers()
}

// startWatchers starts the goroutines that live as long as the cluster.
func (c *Cluster) startWatchers() {
	c.wg.Go(c.watchDisk)
	c.wg.Go(c.watchProgress)
	c.wg.Go(c.watchSpace)
	c.wg.Go(c.watchTransfer)
	c.wg.Go(c.watchSnapshotBytes)
	c.startPilot()
	if c.peer == nil {
		return
	}
	c.wg.Go(c.watchCommits)
	c.wg.Go(c.watchCommitNotices)
	c.wg.Go(c.watchMembership)
	c.wg.Go(c.watchReach)
	c.wg.Go(c.succession.AnswerDoubts)
	if c.cfg.DigestInterval > 0 && c.cfg.Digest != nil {
		c.wg.Go(c.watchDigests)
	}
	if c.cfg.BootstrapExpect > 0 {
		c.wg.Go(c.expect)
	}
}

// goRun runs f in a goroutine for which Close waits. After Close it does nothing.
func (c *Cluster) goRun(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		c.wg.Go(f)
	}
}

// pause waits for d. It reports false if the cluster was closed meanwhile.
func (c *Cluster) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// Close stops raft and closes the stores. It does not transfer leadership; Transfer does.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.stopping {
		c.mu.Unlock()
		return nil
	}
	c.stopping = true
	c.mu.Unlock()
	c.cancel()
	if c.peer != nil {
		c.peer.Watch(nil, nil, nil)
	}
	c.wg.Wait()
	c.mu.Lock()
	in := c.in
	c.mu.Unlock()
	in.stop()
	c.closeTransport()
	c.lead.close()
	return errors.Join(c.stores.Close(), c.dir.Close(c.guard.Failure() == nil))
}

// fatal stops raft and calls OnFatal. The guard calls it with the first failure.
func (c *Cluster) fatal(code int, err error) {
	go func() { // not goRun: callers may hold c.mu. The goroutine is short, since raft's Shutdown returns soon
		c.mu.RLock()
		in := c.in
		c.mu.RUnlock()
		if in != nil {
			in.raft.Shutdown()
		}
	}()
	if c.cfg.OnFatal != nil {
		c.cfg.OnFatal(code, err)
	}
}

// Fail stops this replica with an exit code. Callers use it when they detect a fatal state, such as
// an entry that they cannot interpret (code 75).
func (c *Cluster) Fail(code int, err error) { c.guard.Fail(code, err) }

// Failure returns why this replica stopped, or nil if it has not stopped.
func (c *Cluster) Failure() error { return c.guard.Failure() }

// Identity returns the identity that this replica stores.
func (c *Cluster) Identity() identity.Identity { return c.dir.Identity() }

// ClusterID returns the cluster id, or "" before the bootstrap.
func (c *Cluster) ClusterID() string { return c.Identity().ClusterID }

// Addr returns the address that this replica advertises.
func (c *Cluster) Addr() string {
	if c.cfg.Advertise != "" {
		return c.cfg.Advertise
	}
	return string(c.network.LocalAddr())
}
