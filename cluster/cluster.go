package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/raftstore"
	"rmd/cluster/rafttransport"
	"rmd/cluster/succession"
	"rmd/internal/exitcode"
)

// Cluster is the Raft part of one replica. Its methods may be called from any goroutine. It consists of
// parts. What several of them use is in core.
//
// Goroutines: those of raft; the watchers that Open starts, which end with ctx and for which Close
// waits; and one for each task that must not run inside a callback (goRun).
type Cluster struct {
	*core
	*leaderships
	*survey
	*progress
	*reads
	*snapshots
	*formation
	*changes
	*digests
	*reach
	*commitReceiver

	pilot      *pilot
	access     *access
	entries    *entryChecks
	departures *departures
	runs       *runs
	steps      *stepDowns
	commits    *commitSender
	rollbacks  *rollbacks
	space      *diskSpace
}

// newCluster returns a Cluster whose parts know each other. A part uses those that are made before it.
func newCluster(cfg Config) *Cluster {
	c := &core{cfg: cfg, log: cfg.Logger.Named("cluster"), peer: cfg.Peer, jobs: newJobs(cfg.Jobs)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	access := &access{core: c}
	lead := &leaderships{core: c, access: access}
	progress := &progress{core: c}
	steps := &stepDowns{core: c, lead: lead, progress: progress}
	reach := &reach{core: c, tries: newConnectionTries()}
	survey := &survey{core: c, access: access, lead: lead, progress: progress, steps: steps, reach: reach}
	departures := &departures{core: c, access: access, lead: lead}
	changes := &changes{core: c, access: access, lead: lead, survey: survey, departures: departures, one: raftstore.NewMutex()}
	pilot := newPilot(c, survey, changes)
	lead.changed = pilot.follow
	return &Cluster{
		core: c, leaderships: lead, survey: survey, progress: progress, reach: reach, changes: changes, pilot: pilot,
		reads:          &reads{core: c, lead: lead},
		snapshots:      &snapshots{core: c, one: make(chan struct{}, 1)},
		formation:      &formation{core: c, lead: lead, survey: survey},
		digests:        &digests{core: c, progress: progress},
		commitReceiver: &commitReceiver{core: c, access: access, box: newNoticeBox()},
		access:         access, departures: departures, steps: steps,
		entries:   &entryChecks{core: c},
		runs:      &runs{core: c, lead: lead},
		commits:   &commitSender{core: c, notifier: newCommitNotifier()},
		rollbacks: &rollbacks{core: c, survey: survey},
		space:     &diskSpace{core: c, survey: survey, changes: changes},
	}
}

// Open opens and checks the data directory and starts raft. A replica without state then waits
// until Init, Join or BootstrapExpect gives it one. If an error determines the exit code, it is an
// *exitcode.Error.
func Open(cfg Config) (*Cluster, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := newCluster(cfg)
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
	c.stores.Logs.OnStored = c.box.recheck
	c.fsm = newMachine(c.cfg.FSM, c.departures.configurationApplied, c.snapshotFailed)
	c.departures.conf.init(rep.Snapshot)
	c.openTransport()
	if err := c.runs.start(rep, false); err != nil {
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
	c.peer.SetGate(c.access.admitConn, c.access.authorizeCall, c.access.authorizeAnswer, func(server string) bool { return c.access.trusts(raft.ServerID(server)) })
	c.identify()
	c.watchPeers()
}

// startWatchers starts the goroutines that live as long as the cluster.
func (c *Cluster) startWatchers() {
	c.wg.Go(c.watchDisk)
	c.wg.Go(c.steps.watchProgress)
	c.wg.Go(c.space.watchSpace)
	c.wg.Go(c.runs.watchTransfer)
	c.wg.Go(c.watchSnapshotBytes)
	if c.peer == nil {
		return
	}
	c.wg.Go(c.pilot.run)
	c.wg.Go(c.commits.watchCommits)
	c.wg.Go(c.watchCommitNotices)
	c.wg.Go(c.departures.watchMembership)
	c.wg.Go(c.watchReach)
	c.wg.Go(c.succession.AnswerDoubts)
	if c.cfg.DigestInterval > 0 && c.cfg.Digest != nil {
		c.wg.Go(c.watchDigests)
	}
	if c.cfg.BootstrapExpect > 0 {
		c.wg.Go(c.expect)
	}
}

// Close stops raft and closes the stores. It does not transfer leadership; Transfer does.
func (c *Cluster) Close() error {
	c.core.mu.Lock()
	if c.stopping {
		c.core.mu.Unlock()
		return nil
	}
	c.stopping = true
	c.core.mu.Unlock()
	c.cancel()
	if c.peer != nil {
		c.peer.Watch(nil, nil, nil)
	}
	c.wg.Wait()
	c.core.mu.Lock()
	in := c.in
	c.core.mu.Unlock()
	in.stop()
	c.closeTransport()
	c.hub.close()
	return errors.Join(c.stores.Close(), c.dir.Close(c.guard.Failure() == nil))
}

// fatal stops raft and calls OnFatal. The guard calls it with the first failure.
func (c *Cluster) fatal(code int, err error) {
	go func() { // not goRun: callers may hold c.core.mu. The goroutine is short, since raft's Shutdown returns soon
		c.core.mu.RLock()
		in := c.in
		c.core.mu.RUnlock()
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
