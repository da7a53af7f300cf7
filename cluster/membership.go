package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
	"rmd/cluster/identity"
	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
	"rmd/internal/exitcode"
	"rmd/internal/failpoint"
)

// departures follows the committed membership. It refuses replicas that left, and stops this one if it
// was removed.
type departures struct {
	*local.Replica
	access         *access.Rules
	lead           *leading.Watch
	conf           confState
	foreignCluster atomic.Bool // it was logged that the other replicas belong to another cluster or epoch
}

// confState follows the committed membership.
type confState struct {
	mu     sync.Mutex
	known  map[raft.ServerID]bool // the servers of the previous membership
	latest raft.Configuration
	index  uint64
	fresh  bool
	signal chan struct{}
}

// init starts with the membership of the snapshot, which is committed. Memberships in the log after
// the snapshot follow when they are applied. Applying an old one again only finds the same replicas
// removed.
func (s *confState) init(snapshot *raft.SnapshotMeta) {
	s.known = map[raft.ServerID]bool{}
	s.signal = make(chan struct{}, 1)
	if snapshot != nil {
		for _, v := range snapshot.Configuration.Servers {
			s.known[v.ID] = true
		}
	}
}

// configurationApplied records a membership. It runs on raft's FSM goroutine and must not block.
func (d *departures) configurationApplied(index uint64, conf raft.Configuration) {
	s := &d.conf
	s.mu.Lock()
	defer s.mu.Unlock()
	if index < s.index {
		return
	}
	s.latest, s.index, s.fresh = conf.Clone(), index, true
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// step returns the newest membership and the servers that left since the previous step. ok is false
// if there was no change.
func (s *confState) step() (conf raft.Configuration, left []raft.ServerID, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh {
		return conf, nil, false
	}
	s.fresh = false
	now := map[raft.ServerID]bool{}
	for _, v := range s.latest.Servers {
		now[v.ID] = true
	}
	for id := range s.known {
		if !now[id] {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	s.known = now
	return s.latest, left, true
}

// watchMembership handles membership changes. It refuses replicas that left and watches those that
// stay. It also detects that this replica was removed, and announces a new address of this replica.
func (d *departures) watchMembership() {
	t := time.NewTicker(max(time.Second, 2*d.Config.Election))
	defer t.Stop()
	for {
		select {
		case <-d.conf.signal:
			d.stepMembership()
		case <-t.C:
			d.lead.WatchPeers() // an installed snapshot changes the membership without a signal
			_ = d.Jobs.Membership.Done(d.checkOwnMembership())
		case <-d.Context.Done():
			return
		}
	}
}

// stepMembership handles the changes since the last call.
func (d *departures) stepMembership() {
	_, left, ok := d.conf.step()
	if !ok {
		return
	}
	self := d.Identity().ServerID()
	if slices.Contains(left, self) {
		_ = d.removedHere(removedNotice{ServerID: string(self), By: "the membership", At: time.Now()})
		return
	}
	if len(left) > 0 {
		failpoint.Hit(failpoint.MemberLeft)
		err := d.Guard.RetryShortage("record the removed replicas", func() error { return d.recordRemoved(left) })
		if err != nil && d.IdentityFailed(err) != nil {
			return
		}
	}
	d.access.Introduced.Forget(func(id raft.ServerID) bool {
		_, member := d.access.Member(id)
		return member || d.Dir.IsRemoved(id)
	})
	d.Peer.Recheck()
	d.lead.WatchPeers()
}

// recordRemoved stores the ids of removed replicas.
func (d *departures) recordRemoved(left []raft.ServerID) error {
	return d.Dir.Update(func(i *identity.Identity) {
		for _, id := range left {
			delete(i.Trust.Keys, string(id))
			if !slices.Contains(i.RemovedPeers, string(id)) {
				i.RemovedPeers = append(i.RemovedPeers, string(id))
			}
		}
	})
}

// removedNotice tells a replica that it was removed.
type removedNotice struct {
	ServerID string    `json:"server_id"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
}

// A removed replica gets its notice for noticeTime at most, again after each noticePause.
const (
	noticeTime  = 2 * time.Second
	noticePause = 50 * time.Millisecond
)

// notifyRemoved tells a removed replica that it was removed, which raft does not. The replica's
// current connection is being closed, since removed replicas may have none. So a lost notice is
// sent again on a new connection.
func (d *departures) notifyRemoved(s raft.Server, by string) {
	n := removedNotice{ServerID: string(s.ID), By: by, At: time.Now().UTC()}
	d.Go(func() {
		ctx, cancel := context.WithTimeout(d.Context, noticeTime)
		defer cancel()
		for {
			_, err := protocol.Ask[protocol.None](ctx, d.Peer, string(s.Address), protocol.Removed, n)
			if err == nil {
				return
			}
			select {
			case <-time.After(noticePause):
			case <-ctx.Done():
				d.Log.Info("cannot notify the removed replica", "replica", s.ID, "error", err)
				return
			}
		}
	})
}

// removedGrace is how long a removed replica continues after it has learned of its removal.
const removedGrace = 300 * time.Millisecond

// removedHere stops this replica. It first stores the removal, so that a later start is refused
// too.
func (d *departures) removedHere(n removedNotice) error {
	id := d.Identity()
	if n.ServerID != string(id.ServerID()) {
		return fmt.Errorf("%s is not this replica (%s)", n.ServerID, id.ServerID())
	}
	if id.Removed != nil {
		return nil
	}
	if err := d.Dir.Update(func(i *identity.Identity) { i.Removed = &identity.Removal{By: n.By, At: n.At} }); err != nil {
		return err
	}
	failpoint.Hit(failpoint.RemovedHere)
	d.Go(func() {
		select { // let pending answers be sent: this replica may have been asked to remove itself
		case <-time.After(removedGrace):
		case <-d.Context.Done():
		}
		d.Guard.Fail(exitcode.Removed, fmt.Errorf("%w by %s", ErrRemoved, n.By))
	})
	return nil
}

// checkOwnMembership runs periodically. Without a leader it asks the other replicas whether this
// one was removed: the removal may have happened while this replica was down, or its commit was
// never announced here. If this replica's address changed, it announces the new one. It returns what
// excludes this replica from the cluster.
func (d *departures) checkOwnMembership() error {
	self := d.Identity().ServerID()
	conf := d.Configuration()
	me, member := servers.Find(conf, string(self))
	moved := member && string(me.Address) != d.Addr()
	if _, leader := d.lead.Leader(); leader != "" && !moved {
		return nil
	}
	ctx, cancel := context.WithTimeout(d.Context, 2*time.Second)
	defer cancel()
	var failed error
	for _, s := range conf.Servers {
		if s.ID == self {
			continue
		}
		var err error
		if moved {
			_, err = protocol.Ask[protocol.None](ctx, d.Peer, string(s.Address), protocol.Move,
				moveRequest{ServerID: string(self), Address: d.Addr()})
			if err == nil {
				d.Log.Info("announced the new address", "address", d.Addr())
				return nil
			}
			failed = fmt.Errorf("announce the new address %s: %w", d.Addr(), err)
		} else {
			_, err = protocol.Ask[info](ctx, d.Peer, string(s.Address), protocol.Info, protocol.None{})
		}
		var coded interface{ ErrorCode() string }
		if !errors.As(err, &coded) {
			continue
		}
		switch coded.ErrorCode() {
		case string(refusal.Removed):
			if !refusedBy(err, s.ID) {
				continue
			}
			_ = d.removedHere(removedNotice{ServerID: string(self), By: "replica " + string(s.ID), At: time.Now().UTC()})
			return nil
		case codeOtherCluster:
			failed = fmt.Errorf("%s refuses this replica, which belongs to another cluster or was recovered by hand: %w", s.ID,
				err)
			if d.foreignCluster.CompareAndSwap(false, true) { // log it once: it cannot change while this process runs
				d.Log.Error("a peer refuses this replica: the cluster was recovered by hand since this replica last ran, or the address belongs to another cluster; correct the addresses; "+Rejoin,
					"peer", s.ID, "address", s.Address, "error", err)
			}
		case string(refusal.IDInUse):
			d.Log.Error("a peer refuses this replica: another process uses its identity; stop the one that runs on a copy of the disk, and start that one only as a new replica with another id and an empty disk", "error", err)
			return fmt.Errorf("another process uses this replica's identity: %w", err)
		}
	}
	return failed
}

// refusedBy reports whether a refusal came from the given member itself. Another process at the
// member's address must not make this replica believe that it was removed.
func refusedBy(err error, member raft.ServerID) bool {
	var by interface{ RefusedBy() string }
	return !errors.As(err, &by) || by.RefusedBy() == string(member)
}

// codeOtherCluster is the refusal by the peer transport's hello of a replica of another cluster or
// epoch.
const codeOtherCluster = "OTHER_CLUSTER"
