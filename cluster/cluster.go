package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
	"rmd/cluster/commits"
	"rmd/cluster/identity"
	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/progress"
	"rmd/cluster/raftstore"
	"rmd/cluster/rafttransport"
	"rmd/cluster/reach"
	"rmd/cluster/succession"
	"rmd/internal/exitcode"
)

// Cluster is the Raft part of one replica. Its methods may be called from any goroutine. It consists of
// parts. What several of them use is in core.
//
// Goroutines: those of raft; the watchers that Open starts, which end with ctx and for which Close
// waits; and one for each task that must not run inside a callback (core.Go).
type Cluster struct {
	core *local.Replica
	*survey
	*reads
	*snapshots
	*formation
	*changes
	*digests

	autopilot  *autopilotRunner
	access     *access.Rules
	entries    *access.Entries
	departures *departures
	lead       *leading.Watch
	notices    *commits.Receiver
	progress   *progress.Watch
	reach      *reach.Watch
	runs       *runs
	steps      *stepDowns
	commits    *commits.Sender
	rollbacks  *rollbacks
	space      *diskSpace
}

// newCluster returns a Cluster whose parts know each other. A part uses those that are made before it.
func newCluster(cfg Config) *Cluster {
	c := &local.Replica{Config: cfg, Log: cfg.Logger.Named("cluster"), Peer: cfg.Peer, Jobs: local.NewJobs(cfg.Jobs)}
	c.Context, c.Cancel = context.WithCancel(context.Background())
	rules := &access.Rules{Replica: c}
	lead := &leading.Watch{Replica: c, Access: rules}
	progress := progress.New(c)
	steps := &stepDowns{Replica: c, lead: lead, progress: progress}
	reach := reach.New(c)
	survey := &survey{Replica: c, access: rules, lead: lead, progress: progress, steps: steps, reach: reach}
	departures := &departures{Replica: c, access: rules, lead: lead}
	changes := &changes{Replica: c, access: rules, lead: lead, survey: survey, departures: departures,
		one: raftstore.NewMutex()}
	runner := newAutopilotRunner(c, survey, changes)
	lead.Changed = runner.follow
	return &Cluster{
		core: c, lead: lead, survey: survey, progress: progress, reach: reach, changes: changes, autopilot: runner,
		reads:     &reads{Replica: c, lead: lead},
		snapshots: &snapshots{Replica: c, one: make(chan struct{}, 1)},
		formation: &formation{Replica: c, lead: lead, survey: survey},
		digests:   &digests{Replica: c, progress: progress},
		notices:   commits.NewReceiver(c, rules),
		access:    rules, departures: departures, steps: steps,
		entries:   &access.Entries{Replica: c},
		runs:      &runs{Replica: c, lead: lead},
		commits:   commits.NewSender(c),
		rollbacks: &rollbacks{Replica: c, survey: survey},
		space:     &diskSpace{Replica: c, survey: survey, changes: changes},
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
	c.core.Guard = raftstore.NewGuard(raftstore.GuardConfig{Logger: c.core.Log, OnFatal: c.fatal, SlowWrite: cfg.Election,
		OnWrite: func(took time.Duration) { c.core.Observe(MeasureSync, took) }})
	if err := c.open(); err != nil {
		c.core.Cancel()
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
			err = errors.Join(err, c.core.Dir.Close(false))
		}
	}()
	if r := c.Identity().Removed; r != nil {
		return &exitcode.Error{Code: exitcode.Removed,
			Err: fmt.Errorf("%w by %s at %s", ErrRemoved, r.By, r.At.Format(time.RFC3339))}
	}
	if c.core.Stores, err = raftstore.Open(c.core.Dir, c.core.Config.Options.Stores(), c.core.Guard,
		c.core.Config.VerifySnapshot, c.core.Log.Named("snapshots")); err != nil {
		if errors.Is(err, raftstore.ErrDamaged) {
			err = &exitcode.Error{Code: exitcode.Store, Err: fmt.Errorf("start check: %w", err)}
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.core.Stores.Close())
		}
	}()
	rep, err := c.core.Stores.Inspect()
	if errors.Is(err, raftstore.ErrNewer) {
		return err
	} else if err != nil {
		return &exitcode.Error{Code: exitcode.Store, Err: fmt.Errorf("start check: %w", err)}
	}
	if rep.Term > 0 {
		c.core.Dir.MarkUsed(c.core.Log)
	}
	c.core.Stores.Stable.OnTermStored = func() { c.core.Dir.MarkUsed(c.core.Log) }
	c.report(rep)
	c.core.Stores.Snapshots.OnFinished, c.core.Stores.Snapshots.OnFailed = c.snapshotMade, c.snapshotFailed
	c.core.Stores.Logs.OnStored = c.notices.Recheck
	c.core.FSM = local.NewMachine(c.core.Config.FSM, c.departures.configurationApplied, c.snapshotFailed)
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
	want := identity.Identity{ID: c.core.Config.ID, ClusterName: c.core.Config.ClusterName}
	if c.core.Config.DataDir == "" {
		want.Incarnation, want.ClusterID = c.core.Config.Options.Incarnation, c.core.Config.Options.ClusterID
		if want.Incarnation == "" {
			want.Incarnation = randomHex(8)
		}
		if kept := c.core.Config.Options.Identity; kept != nil {
			want = *kept
		}
		if want.Trust.Seed == nil { // only in simulations, where no replica has to prove its name
			seed := sha256.Sum256([]byte(want.ServerID()))
			want.Trust.Seed = seed[:]
		}
		c.core.Dir = raftstore.MemoryDir(want, c.core.Config.Options.KeepIdentity)
		return nil
	}
	var err error
	if c.core.Dir, err = raftstore.OpenDir(c.core.Config.DataDir, want); err != nil {
		return err
	}
	raftstore.RemoveLeftovers(c.core.Config.DataDir, c.core.Log)
	free, err := c.core.Free()
	if err == nil && free < c.core.Config.DiskStop {
		err = &exitcode.Error{Code: exitcode.DiskFull,
			Err: fmt.Errorf("disk is full: %d bytes free, disk.stop is %d; free some space", free, c.core.Config.DiskStop)}
	}
	if err == nil && c.core.Dir.Unclean {
		c.core.Log.Warn("the last process was not stopped cleanly: checking the store")
		if cerr := c.core.Dir.CheckLog(); cerr != nil {
			err = &exitcode.Error{Code: exitcode.Store, Err: fmt.Errorf("store check: %w", cerr)}
		}
	}
	if err != nil {
		return errors.Join(err, c.core.Dir.Close(false))
	}
	c.core.DiskFree.Store(free)
	return nil
}

// report logs what the start check found.
func (c *Cluster) report(rep *raftstore.StartReport) {
	for _, b := range rep.BadSnapshot {
		c.core.Log.Error("ignoring a damaged snapshot", "snapshot", b)
	}
	var snap uint64
	if rep.Snapshot != nil {
		snap = rep.Snapshot.Index
	}
	c.core.Log.Info("data checked", "replica", c.Identity().ServerID(), "snapshot", snap, "first", rep.First,
		"last", rep.Last)
	if ahead := time.Until(rep.LastAt); ahead > clockMax {
		c.core.Log.Warn("the clock is behind the time of the newest entry", "by", ahead.Round(time.Second))
	}
	switch {
	case c.core.Config.BootstrapExpect > 0 && rep.Last > 0:
		c.core.Log.Info("ignoring bootstrap_expect: this replica has state", "bootstrap_expect",
			c.core.Config.BootstrapExpect)
	case c.core.Config.BootstrapExpect == 1:
		c.core.Log.Warn("bootstrap_expect is 1: a single replica tolerates no failure")
	}
}

// clockMax is how far the time of the newest entry may be in the future without a warning.
const clockMax = time.Hour

// openTransport wraps the network transport with the work-arounds and starts it.
func (c *Cluster) openTransport() {
	c.core.Network = c.core.Config.Options.Transport
	if c.core.Network == nil {
		c.core.Network = c.core.Peer.Transport(max(transportTimeout, 2*c.core.Config.Election), c.core.Log.Named("transport"))
	}
	c.core.Transport = rafttransport.New(rafttransport.Config{Transport: c.core.Network, Replica: raftView{c},
		Log: c.core.Stores.Logs, Snapshots: c.core.Stores.Snapshots,
		Logger: c.core.Log, HeartbeatFastPath: c.core.Config.Options.HeartbeatFastPath})
	sc := succession.Config{Server: c.Identity().ServerID(), Heartbeat: c.core.Config.Heartbeat, Replica: raftView{c},
		Transport: c.core.Transport, Caller: c.core.Network,
		Logger: c.core.Log, Go: c.core.Go, OnSuccessor: c.lead.SuccessorFound}
	if c.core.Peer != nil {
		sc.Peers = c.core.Peer
	}
	c.lead.Succession = succession.New(c.core.Context, sc)
	c.core.Transport.Start()
}

// transportTimeout bounds one Raft request. A follower's answer includes its disk writes.
const transportTimeout = 5 * time.Second

func (c *Cluster) closeTransport() {
	c.core.Transport.Stop()
	if t, ok := c.core.Network.(raft.WithClose); ok && c.core.Config.Options.Transport == nil {
		_ = t.Close()
	}
}

// openPeer tells the peer transport who this replica is and serves the admin protocol.
func (c *Cluster) openPeer() {
	if c.core.Peer == nil {
		return
	}
	c.serveAdmin()
	c.core.Peer.SetGate(c.access.AdmitConn, c.access.AuthorizeCall, c.access.AuthorizeAnswer,
		func(server string) bool { return c.access.Trusts(raft.ServerID(server)) })
	c.core.Identify()
	c.lead.WatchPeers()
}

// startWatchers starts the goroutines that live as long as the cluster.
func (c *Cluster) startWatchers() {
	c.core.Go(c.steps.watchDisk)
	c.core.Go(c.steps.watchProgress)
	c.core.Go(c.space.watchSpace)
	c.core.Go(c.runs.watchTransfer)
	c.core.Go(c.watchSnapshotBytes)
	if c.core.Peer == nil {
		return
	}
	c.core.Go(c.autopilot.run)
	c.core.Go(c.commits.Run)
	c.core.Go(c.notices.Run)
	c.core.Go(c.departures.watchMembership)
	c.core.Go(c.reach.Run)
	c.core.Go(c.lead.Succession.AnswerDoubts)
	if c.core.Config.DigestInterval > 0 && c.core.Config.Digest != nil {
		c.core.Go(c.watchDigests)
	}
	if c.core.Config.BootstrapExpect > 0 {
		c.core.Go(c.expect)
	}
}

// Close stops raft and closes the stores. It does not transfer leadership; Transfer does.
func (c *Cluster) Close() error {
	if !c.core.End() {
		return nil
	}
	c.core.Current().Stop()
	c.closeTransport()
	c.lead.Hub.Close()
	return errors.Join(c.core.Stores.Close(), c.core.Dir.Close(c.core.Guard.Failure() == nil))
}

// fatal stops raft and calls OnFatal. The guard calls it with the first failure.
func (c *Cluster) fatal(code int, err error) {
	go func() { // not core.Go: callers may hold its lock. The goroutine is short, since raft's Shutdown returns soon
		if in := c.core.Current(); in != nil {
			in.Raft.Shutdown()
		}
	}()
	if c.core.Config.OnFatal != nil {
		c.core.Config.OnFatal(code, err)
	}
}

// Fail stops this replica with an exit code. Callers use it when they detect a fatal state, such as
// an entry that they cannot interpret (code 75).
func (c *Cluster) Fail(code int, err error) { c.core.Guard.Fail(code, err) }

// Failure returns why this replica stopped, or nil if it has not stopped.
func (c *Cluster) Failure() error { return c.core.Guard.Failure() }

// Identity returns the identity that this replica stores.
func (c *Cluster) Identity() identity.Identity { return c.core.Identity() }

// ClusterID returns the cluster id, or "" before the bootstrap.
func (c *Cluster) ClusterID() string { return c.core.ClusterID() }

// Addr returns the address that this replica advertises.
func (c *Cluster) Addr() string { return c.core.Addr() }

// IsMember reports whether this replica is a member of a cluster: it has state of one, or one has
// admitted it. It may not have learned yet what the cluster has committed.
func (c *Cluster) IsMember() bool { return c.core.IsMember() }

// IsLeader reports whether this replica believes that it leads. VerifyLeader asks the other voters. A
// replica that stepped down does not lead, although raft may not know it yet.
func (c *Cluster) IsLeader() bool { return c.core.IsLeader() }

// Term returns raft's current term.
func (c *Cluster) Term() uint64 { return c.core.Term() }

// CommitIndex returns the highest index that this replica knows to be committed.
func (c *Cluster) CommitIndex() uint64 { return c.core.CommitIndex() }

// LastIndex returns the last index in the log or the snapshot.
func (c *Cluster) LastIndex() uint64 { return c.core.LastIndex() }

// AppliedIndex returns the highest index whose effect is in the FSM.
func (c *Cluster) AppliedIndex() uint64 { return c.core.AppliedIndex() }

// WaitApplied waits until all entries up to index are applied here.
func (c *Cluster) WaitApplied(ctx context.Context, index uint64) error {
	return c.core.WaitApplied(ctx, index)
}

// Leadership returns a channel that receives the current leadership and then each change. The
// channel has room for one value, always the newest. Close closes it.
func (c *Cluster) Leadership() <-chan leading.Leadership { return c.lead.Leadership() }

// Leader returns the configured id and the address of the leader, or "" if none is known.
func (c *Cluster) Leader() (id, addr string) { return c.lead.Leader() }

// LastContact returns when this replica last heard from a leader. It is zero on the leader, and
// before the first contact.
func (c *Cluster) LastContact() time.Time { return c.lead.LastContact() }

// Committed tells this replica that the entry at index is committed: the leader named this index in
// its answer to a forwarded call.
func (c *Cluster) Committed(index uint64) { c.notices.Committed(index) }

// WatchWork makes Progress watch the work above Raft. report must return quickly, also while that
// work hangs. It is also called on a replica that does not lead, where the work of an earlier
// leadership may hang.
func (c *Cluster) WatchWork(report func() Work) { c.progress.WatchWork(report) }

// Progress returns what this replica knows now.
func (c *Cluster) Progress() Progress { return c.progress.Progress() }

// TryConnections tries at once whether new connections to the other replicas can be opened. It does
// not wait for the result, which Members shows.
func (c *Cluster) TryConnections() { c.reach.TryNow() }
