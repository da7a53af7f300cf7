package cluster

import (
	"context"
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
)

// core is what the parts of a replica share: its configuration, its stores, its connections and the
// raft that runs.
type core struct {
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

	jobs      jobs
	counters  counters
	transfers transferGate // raft696_transfer.go

	diskFree atomic.Uint64
	full     atomic.Bool // the free space is below the stop level
}

// goRun runs f in a goroutine for which Close waits. After Close it does nothing.
func (c *core) goRun(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		c.wg.Go(f)
	}
}

// pause waits for d. It reports false if the cluster was closed meanwhile.
func (c *core) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// interrupt ends raft's calls in progress, if the transport can.
func (c *core) interrupt() {
	if t, ok := c.network.(interface{ Interrupt() }); ok {
		t.Interrupt()
	}
}

// Identity returns the identity that this replica stores.
func (c *core) Identity() identity.Identity { return c.dir.Identity() }

// ClusterID returns the cluster id, or "" before the bootstrap.
func (c *core) ClusterID() string { return c.Identity().ClusterID }

// Addr returns the address that this replica advertises.
func (c *core) Addr() string {
	if c.cfg.Advertise != "" {
		return c.cfg.Advertise
	}
	return string(c.network.LocalAddr())
}

// current returns the running instance.
func (c *core) current() *instance {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.in
}

// leads reports whether this replica leads in a term.
func (c *core) leads(term uint64) bool {
	in := c.current()
	return in != nil && in.raft.State() == raft.Leader && in.raft.CurrentTerm() == term
}

// header returns raft's header for a request of this replica.
func (c *core) header() raft.RPCHeader {
	id := c.Identity().ServerID()
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: c.network.EncodePeer(id, c.network.LocalAddr())}
}

// IsLeader reports whether this replica believes that it leads. VerifyLeader asks the other voters. A
// replica that stepped down does not lead, although raft may not know it yet.
func (c *core) IsLeader() bool {
	return c.current().raft.State() == raft.Leader && !c.transport.Muted()
}

// Term returns raft's current term.
func (c *core) Term() uint64 { return c.current().raft.CurrentTerm() }

// CommitIndex returns the highest index that this replica knows to be committed.
func (c *core) CommitIndex() uint64 { return c.current().raft.CommitIndex() }

// LastIndex returns the last index in the log or the snapshot.
func (c *core) LastIndex() uint64 { return c.current().raft.LastIndex() }

// configuration returns raft's newest membership.
func (c *core) configuration() raft.Configuration {
	return c.current().raft.GetConfiguration().Configuration()
}

// outcome translates an error of raft's future into what it means for the entry.
func (c *core) outcome(f raft.Future, err error) error {
	switch {
	case errors.Is(err, raft.ErrLeadershipTransferInProgress):
		c.transfers.refused(time.Now())
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), !enqueued(f):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

// enqueueTimeout is how long a proposal may wait for raft's main loop before it is refused.
func (c *core) enqueueTimeout() time.Duration { return max(time.Second, 2*c.cfg.Election) }

// observe reports a measurement.
func (c *core) observe(what Measure, d time.Duration) {
	if c.cfg.Observe != nil {
		c.cfg.Observe(what, d)
	}
}

// AppliedIndex returns the highest index whose effect is in the FSM. No-ops and barriers have no
// effect: they count as applied as soon as all entries before them are.
func (c *core) AppliedIndex() uint64 {
	at := c.fsm.applied.Load()
	for handed := c.current().raft.AppliedIndex(); at < handed; at++ {
		var l raft.Log
		if err := c.stores.Logs.Peek(at+1, &l); err != nil || l.Type != raft.LogNoop && l.Type != raft.LogBarrier {
			break
		}
	}
	return at
}

// WaitApplied waits until all entries up to index are applied here.
func (c *core) WaitApplied(ctx context.Context, index uint64) error {
	const poll = 5 * time.Millisecond // no signal follows the application of a trailing no-op
	for {
		moved := c.fsm.moved()
		if c.AppliedIndex() >= index {
			return nil
		}
		t := time.NewTimer(poll)
		select {
		case <-moved:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-c.ctx.Done():
			t.Stop()
			return ErrClosed
		}
		t.Stop()
	}
}

// inMembership reports whether raft's configuration has any server. Raft has none before the
// bootstrap or the join.
func (c *core) inMembership() bool { return len(c.configuration().Servers) > 0 }

// IsMember reports whether this replica is a member of a cluster: it has state of one, or one has
// admitted it. It may not have learned yet what the cluster has committed.
func (c *core) IsMember() bool {
	return c.hasState() || c.inMembership() || len(c.Identity().Trust.Known) > 0
}

// setCluster stores the cluster's identity, this replica's role and whom it trusts, and then tells
// the peer transport.
func (c *core) setCluster(id string, epoch uint64, role string, known []string, chain []identity.Admission) error {
	err := c.dir.Update(func(i *identity.Identity) {
		i.ClusterID, i.Epoch, i.Role = id, epoch, role
		i.Trust.Known, i.Trust.Admission = known, chain
	})
	if err != nil {
		return c.identityFailed(err)
	}
	c.identify()
	return nil
}

// identityFailed handles a failed write of the identity and returns err. It stops this replica,
// unless the disk is full or the system lacks memory or file descriptors. In these cases the old
// identity is still in place.
func (c *core) identityFailed(err error) error {
	switch {
	case raftstore.IsShortage(err):
		c.guard.ReportShortage(err)
	case !raftstore.IsNoSpace(err):
		c.guard.FailWrite(err)
	}
	return err
}

// identify tells the peer transport who this replica is.
func (c *core) identify() {
	if c.peer != nil {
		id := c.Identity()
		c.peer.SetKey(id.Trust.PrivateKey())
		c.peer.Identify(id.Incarnation, id.WireID())
	}
}

// setRole stores this replica's role.
func (c *core) setRole(role string) error {
	if role != identity.RoleVoter && role != identity.RoleNonvoter {
		return fmt.Errorf("role %q", role)
	}
	return c.dir.Update(func(i *identity.Identity) { i.Role = role })
}

// hasState reports whether the stores contain anything, or cannot be read.
func (c *core) hasState() bool {
	empty, err := c.stores.Empty()
	return err != nil || !empty
}

// free returns the free space of the data directory in bytes.
func (c *core) free() (uint64, error) {
	f := c.cfg.Options.FreeSpace
	if f == nil {
		f = raftstore.FreeSpace
	}
	return f(c.cfg.DataDir)
}

// watch calls look every watchInterval, with the time that has passed since the call before, until
// look returns false or the cluster closes.
func (c *core) watch(look func(now time.Time, passed time.Duration) (goOn bool)) {
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	last := time.Now()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
		now := time.Now()
		if !look(now, now.Sub(last)) {
			return
		}
		last = now
	}
}

// autopilotConfig returns the settings in force.
func (c *core) autopilotConfig() AutopilotConfig {
	if c.cfg.AutopilotNow != nil {
		if conf, ok := c.cfg.AutopilotNow(); ok {
			conf.Interval = c.cfg.Autopilot.Interval
			return conf
		}
	}
	return c.cfg.Autopilot
}
