package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/internal/leadership"
)

// Leadership is who leads, as this replica knows it.
type Leadership = leadership.Leadership

// leadershipHub sends subscribers the newest leadership: a slow one skips older ones, never the
// newest. A leadership lost and won again differs in its term.
type leadershipHub struct {
	mu     sync.Mutex
	now    Leadership
	subs   []chan Leadership
	closed bool
}

// Leadership returns a channel of changes. It starts with the present state, holds one value, the
// newest, and is closed by Close.
func (c *Cluster) Leadership() <-chan Leadership {
	h := &c.lead
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := make(chan Leadership, 1)
	if h.closed {
		close(ch)
		return ch
	}
	ch <- h.now
	h.subs = append(h.subs, ch)
	return ch
}

// publish sends a change and says whether it was one.
func (h *leadershipHub) publish(l Leadership) (old Leadership, changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old = h.now
	if h.closed || l == old {
		return old, false
	}
	h.now = l
	for _, ch := range h.subs {
		select {
		case <-ch: // the older value, if nobody took it
		default:
		}
		ch <- l // room for one, and only this function sends
	}
	return old, true
}

func (h *leadershipHub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		for _, ch := range h.subs {
			close(ch)
		}
	}
}

// watchLeadership turns raft's signals into published leaderships until the instance ends.
func (c *Cluster) watchLeadership(in *instance) {
	t := time.NewTicker(c.cfg.Election) // a lost observation must not stay lost
	defer t.Stop()
	for {
		c.publishLeadership(in)
		select {
		case <-in.notify:
		case <-in.events:
		case <-t.C:
		case <-in.ctx.Done():
			c.lead.publish(Leadership{Term: in.raft.CurrentTerm()})
			return
		}
	}
}

// publishLeadership takes a consistent sample: raft sets the term before it becomes leader and
// leaves the state before it raises the term, so equal terms round a Leader state belong to it.
func (c *Cluster) publishLeadership(in *instance) {
	r := in.raft
	term := r.CurrentTerm()
	leads := r.State() == raft.Leader
	addr, sid := c.leaderOf(in)
	if r.CurrentTerm() != term {
		return // raft signals again
	}
	id, _ := identity.Split(sid)
	l := Leadership{Term: term, LeaderID: id, Address: string(addr), IsLeader: leads}
	if leads {
		l.LeaderID, l.Address = c.cfg.ID, c.Addr()
	} else if sid == c.Identity().ServerID() {
		l.LeaderID, l.Address = "", "" // between leader and follower
	}
	old, changed := c.lead.publish(l)
	if !changed {
		return
	}
	c.log.Info("leadership", "term", l.Term, "leader", l.LeaderID, "here", l.IsLeader)
	if l.IsLeader && (!old.IsLeader || old.Term != l.Term) {
		c.counters.elections.Add(1)
		c.observe(MeasureElection, 0)
	}
	c.pilotFollow(l.IsLeader)
	c.succession.LeadershipChanged(l.Term)
}

// successorFound records how long it took from the proof of a leader's death to the next leader.
func (c *Cluster) successorFound(took time.Duration) {
	c.counters.crashes.Add(1)
	c.observe(MeasureCrash, took)
}

// IsLeader says that this replica leads, as far as it knows: VerifyLeader asks the others.
func (c *Cluster) IsLeader() bool { return c.current().raft.State() == raft.Leader }

// Leader returns the configured id and the address of the leader, empty when none is known.
func (c *Cluster) Leader() (id, addr string) {
	a, sid := c.leaderOf(c.current())
	id, _ = identity.Split(sid)
	return id, string(a)
}

// leaderOf is raft's leader, if it still counts as a member here.
func (c *Cluster) leaderOf(in *instance) (raft.ServerAddress, raft.ServerID) {
	addr, id := in.raft.LeaderWithID()
	if c.peer != nil && id != "" && !c.trusts(id) {
		return "", ""
	}
	return addr, id
}

// Term is raft's current term.
func (c *Cluster) Term() uint64 { return c.current().raft.CurrentTerm() }

// CommitIndex is the highest index known to be committed.
func (c *Cluster) CommitIndex() uint64 { return c.current().raft.CommitIndex() }

// LastIndex is the last index in the log or snapshot.
func (c *Cluster) LastIndex() uint64 { return c.current().raft.LastIndex() }

// LastContact is when a leader was last heard from; zero on the leader itself and before the first.
func (c *Cluster) LastContact() time.Time {
	if c.IsLeader() {
		return time.Time{}
	}
	return c.current().raft.LastContact()
}
