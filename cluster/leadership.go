package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/succession"
	"rmd/internal/leadership"
)

// Leadership says which replica leads, as far as this replica knows.
type Leadership = leadership.Leadership

// leaderships knows who leads, and tells the parts that depend on it.
type leaderships struct {
	*core
	access     *access
	hub        leadershipHub
	succession *succession.Succession
	changed    func(leads bool) // called after each change
}

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
func (l *leaderships) Leadership() <-chan Leadership {
	h := &l.hub
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
func (l *leaderships) watchLeadership(in *instance) {
	t := time.NewTicker(l.cfg.Election) // raft may drop an observation
	defer t.Stop()
	for {
		l.publishLeadership(in)
		select {
		case <-in.notify:
		case <-in.events:
		case <-t.C:
		case <-in.ctx.Done():
			l.hub.publish(Leadership{Term: in.raft.CurrentTerm()})
			return
		}
	}
}

// publishLeadership publishes a consistent sample. Raft sets the term before it becomes leader, and
// leaves the Leader state before it raises the term. So if the term is the same before and after
// reading a Leader state, the state belongs to this term.
func (l *leaderships) publishLeadership(in *instance) {
	r := in.raft
	term := r.CurrentTerm()
	leads := r.State() == raft.Leader && !l.transport.Muted()
	addr, sid := l.leaderOf(in)
	if r.CurrentTerm() != term {
		return // raft signals this change as well
	}
	id, _ := identity.Split(sid)
	now := Leadership{Term: term, LeaderID: id, Address: string(addr), IsLeader: leads}
	if leads {
		now.LeaderID, now.Address = l.cfg.ID, l.Addr()
	} else if sid == l.Identity().ServerID() {
		now.LeaderID, now.Address = "", "" // raft is about to change from leader to follower
	}
	old, changed := l.hub.publish(now)
	if !changed {
		return
	}
	l.log.Info("leadership", "term", now.Term, "leader", now.LeaderID, "here", now.IsLeader)
	if now.IsLeader && (!old.IsLeader || old.Term != now.Term) {
		l.transport.ForgetRefusals()
		l.counters.elections.Add(1)
		l.observe(MeasureElection, 0)
	}
	l.changed(now.IsLeader)
	l.succession.LeadershipChanged(now.Term)
}

// successorFound records the time from the proof of a leader's death to the next leader.
func (l *leaderships) successorFound(took time.Duration) {
	l.counters.crashes.Add(1)
	l.observe(MeasureCrash, took)
}

// Leader returns the configured id and the address of the leader, or "" if none is known.
func (l *leaderships) Leader() (id, addr string) {
	a, sid := l.leaderOf(l.current())
	id, _ = identity.Split(sid)
	return id, string(a)
}

// leaderOf returns raft's leader if this replica trusts it as a member. It returns none if that is
// this replica itself, which has stepped down.
func (l *leaderships) leaderOf(in *instance) (raft.ServerAddress, raft.ServerID) {
	addr, id := in.raft.LeaderWithID()
	if l.transport.Muted() && id == l.Identity().ServerID() {
		return "", ""
	}
	if l.peer != nil && id != "" && !l.access.trusts(id) {
		return "", ""
	}
	return addr, id
}

// LastContact returns when this replica last heard from a leader. It is zero on the leader, and
// before the first contact.
func (l *leaderships) LastContact() time.Time {
	if l.IsLeader() {
		return time.Time{}
	}
	return l.current().raft.LastContact()
}
