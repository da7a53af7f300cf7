package rafttransport

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Work-around W4: the pause after failed calls (v1.8.0, replication.go: replicateTo, util.go:
// backoff).
//
// Library: after each failed call to a follower it waits twice as long as before, up to 10.24 s,
// before it sends entries again, and nothing wakes it. A replica that was down for half a minute
// lags behind for up to 10 s after its start. Heartbeats go on meanwhile, at most half a heartbeat
// timeout apart.
// Guard: a failed call returns to the library only when a heartbeat succeeds, the follower is no
// member any more, or this replica leads no more. So an absence counts as one failure, however long
// it is. A follower whose disk is full answers heartbeats: entries are offered again every
// fullDiskPoll, within one call of the library's.
// Test: TestNoOneWaitsForWhoWasRemoved; in cluster TestReturnAfterAbsence, TestReturnOfSpace.
// Delete when: a successful heartbeat resets the library's pause.

const (
	// followerPoll is how often a call that waits for its follower looks whether this replica still
	// leads.
	followerPoll = 50 * time.Millisecond
	// fullDiskPoll is how often entries are offered again to a follower whose disk is full.
	fullDiskPoll = 250 * time.Millisecond
)

// followerWakeups tells the calls that wait for a follower when it answers again.
type followerWakeups struct {
	mu      sync.Mutex
	waiting map[raft.ServerID]chan struct{}
}

// returned returns a channel that is closed when the follower answers again.
func (r *followerWakeups) returned(id raft.ServerID) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch := r.waiting[id]
	if ch == nil {
		ch = make(chan struct{})
		r.waiting[id] = ch
	}
	return ch
}

// wake ends the waits for a follower.
func (r *followerWakeups) wake(id raft.ServerID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ch := r.waiting[id]; ch != nil {
		close(ch)
		delete(r.waiting, id)
	}
}

// awaitFollower holds a failed call back until its follower answers again, or Serves no longer
// holds.
func (tr *Transport) awaitFollower(back <-chan struct{}, id raft.ServerID, term uint64) {
	t := time.NewTicker(followerPoll)
	defer t.Stop()
	for tr.Serves(id, term) {
		select {
		case <-back:
			return
		case <-tr.done:
			return
		case <-t.C:
		}
	}
}

// mayRetryAfter waits and says whether a follower is to be asked again.
func (tr *Transport) mayRetryAfter(id raft.ServerID, term uint64, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-tr.done:
		return false
	}
	return tr.Serves(id, term) && !tr.muted.Load()
}

// isDiskFull goes by the text: nothing else of an error comes over the network.
func isDiskFull(err error) bool { return err != nil && err.Error() == errDiskFull.Error() }

// Serves says whether this replica leads in a term and a follower is a member.
func (tr *Transport) Serves(id raft.ServerID, term uint64) bool {
	return tr.replica.Leads(term) && slices.ContainsFunc(tr.replica.Configuration().Servers, func(s raft.Server) bool { return s.ID == id })
}
