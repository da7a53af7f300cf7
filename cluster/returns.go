package cluster

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// awayPoll is how often who waits for a follower looks whether it still leads.
const awayPoll = 50 * time.Millisecond

// spacePoll is how often entries are offered again to a follower whose disk is full. Its heartbeats succeed, so it
// does not count as away; but the library's pauses would grow with each refusal as well.
const spacePoll = 250 * time.Millisecond

// returns tells when a follower that could not be reached is there again. After each call that failed the library
// waits twice as long as before, up to 10 s, before it sends entries again, and nothing wakes it: a replica that was
// down for half a minute would lag behind for up to 10 s after its start, and its doors with it. Heartbeats go
// on meanwhile, half a heartbeat timeout apart at most. So a call that failed returns to the library with the next
// heartbeat that succeeds: an absence counts as one failure, however long it is.
type returns struct {
	mu sync.Mutex
	of map[raft.ServerID]chan struct{}
}

// next returns a channel that is closed when the follower answers again.
func (r *returns) next(id raft.ServerID) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch := r.of[id]
	if ch == nil {
		ch = make(chan struct{})
		r.of[id] = ch
	}
	return ch
}

// heard wakes who waits for a follower.
func (r *returns) heard(id raft.ServerID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ch := r.of[id]; ch != nil {
		close(ch)
		delete(r.of, id)
	}
}

// wait holds a failed call back until its follower answers again, or has no say any more, or this replica.
func (w *wire) wait(back <-chan struct{}, id raft.ServerID, term uint64) {
	t := time.NewTicker(awayPoll)
	defer t.Stop()
	for w.serves != nil && w.serves(id, term) {
		select {
		case <-back:
			return
		case <-w.done:
			return
		case <-t.C:
		}
	}
}

// pauseFor waits and says whether a follower is to be asked again.
func (w *wire) pauseFor(id raft.ServerID, term uint64, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.done:
		return false
	}
	return w.serves != nil && w.serves(id, term) && !w.muted.Load()
}

// isFull goes by what is said, too: that is all that comes over the network.
func isFull(err error) bool { return err != nil && err.Error() == errFull.Error() }

// serves says whether this replica leads in a term, and a member is one that it sends entries to.
func (c *Cluster) serves(id raft.ServerID, term uint64) bool {
	if !c.leads(term) {
		return false
	}
	_, member := find(c.current().raft.GetConfiguration().Configuration(), string(id))
	return member
}

// InstallSnapshot sends a snapshot.
func (w *wire) InstallSnapshot(id raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	back := w.returns.next(id)
	err := w.Transport.InstallSnapshot(id, to, args, resp, data)
	w.absences.called(id, to, err)
	if err != nil {
		w.wait(back, id, args.Term)
	}
	return err
}

// isHeartbeat says whether a request is one of those that the library sends beside the entries.
func isHeartbeat(q *raft.AppendEntriesRequest) bool {
	return q.PrevLogEntry == 0 && len(q.Entries) == 0
}
