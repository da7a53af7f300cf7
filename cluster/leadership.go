package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/internal/leadership"
)

// Leadership says which replica leads, as far as this replica knows.
type Leadership = leadership.Leadership

// leadershipHub sends the newest leadership to its subscribers. A slow subscriber may miss older
// values, but never the newest. If a replica loses leadership and wins it again, the terms differ.
type leadershipHub struct {
	mu     sync.Mutex
	now    Leadership
	subs   []chan Leadership
	closed bool
}

// Leadership returns a channel that receives the current leadership and then each change. The
// channel has room for one value, always the newest. Close closes it.
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

// publish sends l to all subscribers if it differs from the last value, and reports whether it did.
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
		case <-ch: // drop the older value if the subscriber has not received it
		default:
		}
		ch <- l // never blocks: the channel has room for one value, and only publish sends
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

// watchLeadership publishes raft's leadership changes until the instance ends.
func (c *Cluster) watchLeadership(in *instance) {
	t := time.NewTicker(c.cfg.Election) // raft may drop an observation
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

// publishLeadership publishes a consistent sample. Raft sets the term before it becomes leader, and
// leaves the Leader state before it raises the term. So if the term is the same before and after
// reading a Leader state, the state belongs to this term.
func (c *Cluster) publishLeadership(in *instance) {
	r := in.raft
	term := r.CurrentTerm()
	leads := r.State() == raft.Leader && !c.transport.Muted()
	addr, sid := c.leaderOf(in)
	if r.CurrentTerm() != term {
		return // raft signals this change as well
	}
	id, _ := identity.Split(sid)
	l := Leadership{Term: term, LeaderID: id, Address: string(addr), IsLeader: leads}
	if leads {
		l.LeaderID, l.Address = c.cfg.ID, c.Addr()
	} else if sid == c.Identity().ServerID() {
		l.LeaderID, l.Address = "", "" // raft is about to change from leader to follower
	}
	old, changed := c.lead.publish(l)
	if !changed {
		return
	}
	c.log.Info("leadership", "term", l.Term, "leader", l.LeaderID, "here", l.IsLeader)
	if l.IsLeader && (!old.IsLeader || old.Term != l.Term) {
		c.transport.ForgetRefusals()
		c.counters.elections.Add(1)
		c.observe(MeasureElection, 0)
	}
	c.pilotFollow(l.IsLeader)
	c.succession.LeadershipChanged(l.Term)
}

// successorFound records the time from the proof of a leader's death to the next leader.
func (c *Cluster) successorFound(took time.Duration) {
	c.counters.crashes.Add(1)
	c.observe(MeasureCrash, took)
}

// IsLeader reports whether this replica believes that it leads. VerifyLeader asks the other voters. A
// replica that stepped down does not lead, although raft may not know it yet.
func (c *Cluster) IsLeader() bool {
	return c.current().raft.State() == raft.Leader && !c.transport.Muted()
}

// Leader returns the configured id and the address of the leader, or "" if none is known.
func (c *Cluster) Leader() (id, addr string) {
	a, sid := c.leaderOf(c.current())
	id, _ = identity.Split(sid)
	return id, string(a)
}

// leaderOf returns raft's leader if this replica trusts it as a member. It returns none if that is
// this replica itself, which has stepped down.
func (c *Cluster) leaderOf(in *instance) (raft.ServerAddress, raft.ServerID) {
	addr, id := in.raft.LeaderWithID()
	if c.transport.Muted() && id == c.Identity().ServerID() {
		return "", ""
	}
	if c.peer != nil && id != "" && !c.trusts(id) {
		return "", ""
	}
	return addr, id
}

// Term returns raft's current term.
func (c *Cluster) Term() uint64 { return c.current().raft.CurrentTerm() }

// CommitIndex returns the highest index that this replica knows to be committed.
func (c *Cluster) CommitIndex() uint64 { return c.current().raft.CommitIndex() }

// LastIndex returns the last index in the log or the snapshot.
func (c *Cluster) LastIndex() uint64 { return c.current().raft.LastIndex() }

// LastContact returns when this replica last heard from a leader. It is zero on the leader, and
// before the first contact.
func (c *Cluster) LastContact() time.Time {
	if c.IsLeader() {
		return time.Time{}
	}
	return c.current().raft.LastContact()
}
