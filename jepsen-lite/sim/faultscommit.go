package sim

import (
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// missesMax is the number of failed sends after which raft waits long enough before the next try
// for this scenario: the leader commits and the follower returns within one wait.
const missesMax = 8

// backoffBegun is when the wait after the last failure has surely begun. backoffLeft is how much of
// the wait surely remains then.
const (
	backoffBegun = 250 * time.Millisecond
	backoffLeft  = 300 * time.Millisecond
)

// lateLeader is a leader that cannot store its first entry yet, and the number of its failed sends
// to a follower.
type lateLeader struct {
	mu     sync.Mutex
	leader string
	misses int
	begun  chan struct{} // closed when it leads
	enough chan struct{} // closed after enough failed sends
}

func newLate() *lateLeader {
	return &lateLeader{begun: make(chan struct{}), enough: make(chan struct{})}
}

// logs is called with what raft logs. hold prevents the disk of the replica that becomes leader
// from storing anything.
func (o *lateLeader) logs(id, message string, hold func(id string)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.leader == "" && strings.HasPrefix(message, "entering leader state"):
		o.leader = id
		hold(id)
		close(o.begun)
	case o.leader == id && strings.HasPrefix(message, "failed to appendEntries to"):
		if o.misses++; o.misses == missesMax {
			close(o.enough)
		}
	}
}

// lateFirstEntry returns a follower with entries that no other replica has to a leader that has
// committed entries meanwhile. The leader's first request has a commit index above the entries that
// it proves, and the follower must not apply its own entries up to there (S1). Heartbeats reach the
// follower all the time, because the leader waits for one before it counts the next failure
// (cluster/rafttransport/raft_w4_backoff.go).
func (d *driver) lateFirstEntry() {
	w, all, first := d.w, d.w.healthyMembers(), d.w.leading()
	if len(all) < 3 || first == nil {
		return
	}
	d.note("%s keeps entries that nobody else has, and its successor stores its first one late", first.id)
	o := newLate()
	thaw := func() {}
	hold := func(id string) {
		for _, r := range all {
			if l, up := r.currentProcess(); r.id == id && up {
				thaw = l.disk.Freeze()
			}
		}
	}
	hook := func(id, message string) {
		if id != first.id {
			o.logs(id, message, hold)
		}
	}
	w.net.Isolate(first.id, true, true)
	d.propose(first, 2+d.rng.Intn(4))
	w.atLog.Store(&hook)
	first.crash()
	end := time.NewTimer(10 * election)
	defer end.Stop()
	met := false
	select {
	case <-o.begun:
		met = d.heartbeatsOnly(first, o.enough, end.C)
	case <-end.C:
	}
	w.atLog.Store(nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	thaw()
	if second := d.w.named(o.leader); met && second != nil {
		d.propose(second, 4)
		d.sleep(backoffLeft/6, backoffLeft/6)
		w.check.Achieved("late first entry")
	}
	w.heal()
	d.sleep(2*backoffLeft, lease)
}

// heartbeatsOnly lets only heartbeats reach a follower, until the sends of its leader have failed
// often enough.
func (d *driver) heartbeatsOnly(first *replica, enough <-chan struct{}, end <-chan time.Time) bool {
	w := d.w
	w.net.Deny(func(to string, msg any) bool {
		q, entries := msg.(*raft.AppendEntriesRequest)
		_, install := msg.(*raft.InstallSnapshotRequest)
		return to == first.id && (install || entries && (q.PrevLogEntry > 0 || len(q.Entries) > 0))
	})
	for _, r := range w.members() {
		w.net.Join(first.id, r.id)
	}
	if err := first.start(); err != nil {
		d.note("%v", err)
	}
	select {
	case <-enough:
		time.Sleep(backoffBegun)
		return true
	case <-end:
		return false
	}
}

// named returns the member with a name; nil if there is none.
func (w *world) named(id string) *replica {
	for _, r := range w.members() {
		if r.id == id {
			return r
		}
	}
	return nil
}
