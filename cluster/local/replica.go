package local

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

// Replica is what the parts of a replica share: its configuration, its stores, its connections and the
// raft that runs.
type Replica struct {
	Config Config
	Log    hclog.Logger
	Peer   Peer

	Dir       *raftstore.Dir
	Guard     *raftstore.Guard
	Stores    *raftstore.Stores
	Network   raft.Transport           // the library's transport, or a simulation's
	Transport *rafttransport.Transport // wraps network with the work-arounds; raft uses this one
	FSM       *Machine

	Context context.Context
	Cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu       sync.RWMutex
	in       *Instance // the running raft; a restart in place replaces it
	stopping bool

	Jobs      Jobs
	Counters  Counters
	Transfers TransferGate // raft696_transfer.go

	DiskFree atomic.Uint64
	Full     atomic.Bool // the free space is below the stop level
}

// Go runs f in a goroutine for which Close waits. After Close it does nothing.
func (c *Replica) Go(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		c.wg.Go(f)
	}
}

// End ends what Go has started. It reports false if it was called before.
func (c *Replica) End() bool {
	c.mu.Lock()
	if c.stopping {
		c.mu.Unlock()
		return false
	}
	c.stopping = true
	c.mu.Unlock()
	c.Cancel()
	if c.Peer != nil {
		c.Peer.Watch(nil, nil, nil)
	}
	c.wg.Wait()
	return true
}

// Pause waits for d. It reports false if the cluster was closed meanwhile.
func (c *Replica) Pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.Context.Done():
		return false
	}
}

// Interrupt ends raft's calls in progress, if the transport can.
func (c *Replica) Interrupt() {
	if t, ok := c.Network.(interface{ Interrupt() }); ok {
		t.Interrupt()
	}
}

// Identity returns the identity that this replica stores.
func (c *Replica) Identity() identity.Identity { return c.Dir.Identity() }

// ClusterID returns the cluster id, or "" before the bootstrap.
func (c *Replica) ClusterID() string { return c.Identity().ClusterID }

// Addr returns the address that this replica advertises.
func (c *Replica) Addr() string {
	if c.Config.Advertise != "" {
		return c.Config.Advertise
	}
	return string(c.Network.LocalAddr())
}

// SetCurrent replaces the running instance.
func (c *Replica) SetCurrent(in *Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = in
}

// Current returns the running instance.
func (c *Replica) Current() *Instance {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.in
}

// Leads reports whether this replica leads in a term.
func (c *Replica) Leads(term uint64) bool {
	in := c.Current()
	return in != nil && in.Raft.State() == raft.Leader && in.Raft.CurrentTerm() == term
}

// Header returns raft's header for a request of this replica.
func (c *Replica) Header() raft.RPCHeader {
	id := c.Identity().ServerID()
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id),
		Addr: c.Network.EncodePeer(id, c.Network.LocalAddr())}
}

// IsLeader reports whether this replica believes that it leads. VerifyLeader asks the other voters. A
// replica that stepped down does not lead, although raft may not know it yet.
func (c *Replica) IsLeader() bool {
	return c.Current().Raft.State() == raft.Leader && !c.Transport.Muted()
}

// Term returns raft's current term.
func (c *Replica) Term() uint64 { return c.Current().Raft.CurrentTerm() }

// CommitIndex returns the highest index that this replica knows to be committed.
func (c *Replica) CommitIndex() uint64 { return c.Current().Raft.CommitIndex() }

// LastIndex returns the last index in the log or the snapshot.
func (c *Replica) LastIndex() uint64 { return c.Current().Raft.LastIndex() }

// Configuration returns raft's newest membership.
func (c *Replica) Configuration() raft.Configuration {
	return c.Current().Raft.GetConfiguration().Configuration()
}

// Outcome translates an error of raft's future into what it means for the entry.
func (c *Replica) Outcome(f raft.Future, err error) error {
	switch {
	case errors.Is(err, raft.ErrLeadershipTransferInProgress):
		c.Transfers.refused(time.Now())
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), !Enqueued(f):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

// EnqueueTimeout is how long a proposal may wait for raft's main loop before it is refused.
func (c *Replica) EnqueueTimeout() time.Duration { return max(time.Second, 2*c.Config.Election) }

// Observe reports a measurement.
func (c *Replica) Observe(what Measure, d time.Duration) {
	if c.Config.Observe != nil {
		c.Config.Observe(what, d)
	}
}

// AppliedIndex returns the highest index whose effect is in the FSM. No-ops and barriers have no
// effect: they count as applied as soon as all entries before them are.
func (c *Replica) AppliedIndex() uint64 {
	at := c.FSM.Applied.Load()
	for handed := c.Current().Raft.AppliedIndex(); at < handed; at++ {
		var l raft.Log
		if err := c.Stores.Logs.Peek(at+1, &l); err != nil || l.Type != raft.LogNoop && l.Type != raft.LogBarrier {
			break
		}
	}
	return at
}

// WaitApplied waits until all entries up to index are applied here.
func (c *Replica) WaitApplied(ctx context.Context, index uint64) error {
	const poll = 5 * time.Millisecond // no signal follows the application of a trailing no-op
	for {
		moved := c.FSM.Moved()
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
		case <-c.Context.Done():
			t.Stop()
			return ErrClosed
		}
		t.Stop()
	}
}

// InMembership reports whether raft's configuration has any server. Raft has none before the
// bootstrap or the join.
func (c *Replica) InMembership() bool { return len(c.Configuration().Servers) > 0 }

// IsMember reports whether this replica is a member of a cluster: it has state of one, or one has
// admitted it. It may not have learned yet what the cluster has committed.
func (c *Replica) IsMember() bool {
	return c.HasState() || c.InMembership() || len(c.Identity().Trust.Known) > 0
}

// SetCluster stores the cluster's identity, this replica's role and whom it trusts, and then tells
// the peer transport.
func (c *Replica) SetCluster(id string, epoch uint64, role string, known []string, chain []identity.Admission) error {
	err := c.Dir.Update(func(i *identity.Identity) {
		i.ClusterID, i.Epoch, i.Role = id, epoch, role
		i.Trust.Known, i.Trust.Admission = known, chain
	})
	if err != nil {
		return c.IdentityFailed(err)
	}
	c.Identify()
	return nil
}

// IdentityFailed handles a failed write of the identity and returns err. It stops this replica,
// unless the disk is full or the system lacks memory or file descriptors. In these cases the old
// identity is still in place.
func (c *Replica) IdentityFailed(err error) error {
	switch {
	case raftstore.IsShortage(err):
		c.Guard.ReportShortage(err)
	case !raftstore.IsNoSpace(err):
		c.Guard.FailWrite(err)
	}
	return err
}

// Identify tells the peer transport who this replica is.
func (c *Replica) Identify() {
	if c.Peer != nil {
		id := c.Identity()
		c.Peer.SetKey(id.Trust.PrivateKey())
		c.Peer.Identify(id.Incarnation, id.WireID())
	}
}

// SetRole stores this replica's role.
func (c *Replica) SetRole(role string) error {
	if role != identity.RoleVoter && role != identity.RoleNonvoter {
		return fmt.Errorf("role %q", role)
	}
	return c.Dir.Update(func(i *identity.Identity) { i.Role = role })
}

// HasState reports whether the stores contain anything, or cannot be read.
func (c *Replica) HasState() bool {
	empty, err := c.Stores.Empty()
	return err != nil || !empty
}

// Free returns the free space of the data directory in bytes.
func (c *Replica) Free() (uint64, error) {
	f := c.Config.Options.FreeSpace
	if f == nil {
		f = raftstore.FreeSpace
	}
	return f(c.Config.DataDir)
}

// WatchInterval is the time between two checks of the disk and of progress. It is small compared to
// HungGiveUp.
const WatchInterval = 250 * time.Millisecond

// Watch calls look every watchInterval, with the time that has passed since the call before, until
// look returns false or the cluster closes.
func (c *Replica) Watch(look func(now time.Time, passed time.Duration) (goOn bool)) {
	t := time.NewTicker(WatchInterval)
	defer t.Stop()
	last := time.Now()
	for {
		select {
		case <-c.Context.Done():
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

// AutopilotSettings returns the settings in force.
func (c *Replica) AutopilotSettings() AutopilotConfig {
	if c.Config.AutopilotNow != nil {
		if conf, ok := c.Config.AutopilotNow(); ok {
			conf.Interval = c.Config.Autopilot.Interval
			return conf
		}
	}
	return c.Config.Autopilot
}
