package leading

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
	"rmd/cluster/identity"
	"rmd/cluster/local"
	"rmd/cluster/succession"
	"rmd/internal/leadership"
)

// Leadership says which replica leads, as far as this replica knows.
type Leadership = leadership.Leadership

// Watch knows who leads, and tells the parts that depend on it.
type Watch struct {
	*local.Replica
	Access     *access.Rules
	Hub        leadershipHub
	Succession *succession.Succession
	Changed    func(leads bool) // called after each change
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
func (l *Watch) Leadership() <-chan Leadership {
	h := &l.Hub
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

// Close ends all subscriptions.
func (h *leadershipHub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		for _, ch := range h.subs {
			close(ch)
		}
	}
}

// Follow publishes raft's leadership changes until the instance ends.
func (l *Watch) Follow(in *local.Instance) {
	t := time.NewTicker(l.Config.Election) // raft may drop an observation
	defer t.Stop()
	for {
		l.publishLeadership(in)
		select {
		case <-in.Notify:
		case <-in.Events:
		case <-t.C:
		case <-in.Context.Done():
			l.Hub.publish(Leadership{Term: in.Raft.CurrentTerm()})
			return
		}
	}
}

// publishLeadership publishes a consistent sample. Raft sets the term before it becomes leader, and
// leaves the Leader state before it raises the term. So if the term is the same before and after
// reading a Leader state, the state belongs to this term.
func (l *Watch) publishLeadership(in *local.Instance) {
	r := in.Raft
	term := r.CurrentTerm()
	leads := r.State() == raft.Leader && !l.Transport.Muted()
	addr, sid := l.LeaderOf(in)
	if r.CurrentTerm() != term {
		return // raft signals this change as well
	}
	id, _ := identity.Split(sid)
	now := Leadership{Term: term, LeaderID: id, Address: string(addr), IsLeader: leads}
	if leads {
		now.LeaderID, now.Address = l.Config.ID, l.Addr()
	} else if sid == l.Identity().ServerID() {
		now.LeaderID, now.Address = "", "" // raft is about to change from leader to follower
	}
	old, changed := l.Hub.publish(now)
	if !changed {
		return
	}
	l.Log.Info("leadership", "term", now.Term, "leader", now.LeaderID, "here", now.IsLeader)
	if now.IsLeader && (!old.IsLeader || old.Term != now.Term) {
		l.Transport.ForgetRefusals()
		l.Counters.Elections.Add(1)
		l.Observe(local.MeasureElection, 0)
	}
	l.Changed(now.IsLeader)
	l.Succession.LeadershipChanged(now.Term)
}

// SuccessorFound records the time from the proof of a leader's death to the next leader.
func (l *Watch) SuccessorFound(took time.Duration) {
	l.Counters.Crashes.Add(1)
	l.Observe(local.MeasureCrash, took)
}

// Leader returns the configured id and the address of the leader, or "" if none is known.
func (l *Watch) Leader() (id, addr string) {
	a, sid := l.LeaderOf(l.Current())
	id, _ = identity.Split(sid)
	return id, string(a)
}

// LeaderOf returns raft's leader if this replica trusts it as a member. It returns none if that is
// this replica itself, which has stepped down.
func (l *Watch) LeaderOf(in *local.Instance) (raft.ServerAddress, raft.ServerID) {
	addr, id := in.Raft.LeaderWithID()
	if l.Transport.Muted() && id == l.Identity().ServerID() {
		return "", ""
	}
	if l.Peer != nil && id != "" && !l.Access.Trusts(id) {
		return "", ""
	}
	return addr, id
}

// LastContact returns when this replica last heard from a leader. It is zero on the leader, and
// before the first contact.
func (l *Watch) LastContact() time.Time {
	if l.IsLeader() {
		return time.Time{}
	}
	return l.Current().Raft.LastContact()
}
