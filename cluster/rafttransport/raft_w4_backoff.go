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
// before it sends entries again, and nothing ends this wait early. A replica that was down for half
// a minute lags behind for up to 10 s after its start. Heartbeats continue, at most half a
// heartbeat timeout apart.
// Guard: a failed call returns to the library only when a heartbeat succeeds, the follower is no
// longer a member, or this replica no longer leads. So an absence counts as one failure, however
// long it is. A follower with a full disk answers heartbeats: entries are sent to it again every
// fullDiskPoll, within one call of the library.
// Test: TestWaitersReleasedOnRemoval; in cluster TestReturnAfterAbsence, TestCatchUpAfterFullDisk.
// Delete when: a successful heartbeat resets the library's pause.

const (
	// followerPoll is how often a call that waits for its follower checks whether this replica
	// still leads.
	followerPoll = 50 * time.Millisecond
	// fullDiskPoll is how often entries are sent again to a follower whose disk is full.
	fullDiskPoll = 250 * time.Millisecond
)

// followerWakeups wakes the calls that wait for a follower when the follower answers again.
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

// awaitFollower delays the return of a failed call until the follower answers again, Serves is
// false, or the transport stops.
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

// mayRetryAfter waits for d. It reports whether the follower should be asked again.
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

// isDiskFull compares the text: the network transmits nothing else of an error.
func isDiskFull(err error) bool { return err != nil && err.Error() == errDiskFull.Error() }

// Serves reports whether this replica leads in a term and a follower is a member.
func (tr *Transport) Serves(id raft.ServerID, term uint64) bool {
	return tr.replica.Leads(term) && slices.ContainsFunc(tr.replica.Configuration().Servers,
		func(s raft.Server) bool { return s.ID == id })
}
