package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/internal/exitcode"
)

// A disk that was put back to an older copy has forgotten entries, and perhaps votes, that its replica acknowledged,
// and others count on them. Within one term only that term's leader can cut a follower's log, and never below what the
// follower has acknowledged to it. So the leader remembers that, and a refusal that tells of a shorter log than the
// follower had acknowledged before it was asked is proof. Such a follower gets nothing more, and is told to stop.

// ErrForgetful is why a replica stops that has lost what it acknowledged.
var ErrForgetful = errors.New("this disk has gone back: entries that this replica acknowledged are missing")

// ack is the highest index that a follower acknowledged in a term.
type ack struct{ term, index uint64 }

// ackBook is what followers acknowledged to this replica.
type ackBook struct {
	mu     sync.Mutex
	acks   map[raft.ServerID]ack
	outlaw map[raft.ServerID]amnesiaNotice // the proof against a replica that was found to be forgetful
}

func newAckBook() *ackBook {
	return &ackBook{acks: map[raft.ServerID]ack{}, outlaw: map[raft.ServerID]amnesiaNotice{}}
}

// floor is what a follower has acknowledged in a term so far; ok is false when nothing may be sent to it.
func (b *ackBook) floor(id raft.ServerID, term uint64) (index uint64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.acks[id]; a.term == term {
		index = a.index
	}
	return index, b.outlaw[id].Term != term || term == 0
}

// reach is the index up to which a follower that takes a request has what its leader has.
func reach(q *raft.AppendEntriesRequest) uint64 { return q.PrevLogEntry + uint64(len(q.Entries)) }

// of is what a follower has acknowledged last.
func (b *ackBook) of(id raft.ServerID) ack {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.acks[id]
}

// rolledBack describes the replicas that have lost what they acknowledged, as far as is known in a term.
func (b *ackBook) rolledBack(term uint64) map[raft.ServerID]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[raft.ServerID]string{}
	for id, n := range b.outlaw { // each goes to its own place
		if n.Term == term {
			name, _ := identity.Split(id)
			out[id] = fmt.Sprintf("its disk has gone back: its log ended at %d where %d was acknowledged; put its own disk back, or wipe it, \"rmd cluster remove %s\", and join anew", n.Left, n.Had, name)
		}
	}
	return out
}

// restored ends what stands against a replica in a term.
func (b *ackBook) restored(id raft.ServerID, term uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outlaw[id].Term == term {
		delete(b.outlaw, id)
	}
}

// judge takes an answer in: a success raises what is acknowledged, a refusal below floor is proof of a loss.
func (b *ackBook) judge(id raft.ServerID, q *raft.AppendEntriesRequest, r *raft.AppendEntriesResponse, floor uint64) (forgetful bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Success {
		to := reach(q)
		if a := b.acks[id]; q.Term > a.term || (q.Term == a.term && to > a.index) {
			b.acks[id] = ack{q.Term, to}
		}
		return false
	}
	if r.Term != q.Term || r.LastLog >= floor {
		return false
	}
	if b.outlaw[id].Term != q.Term {
		b.outlaw[id] = amnesiaNotice{string(id), q.Term, floor, r.LastLog}
	}
	return true
}

var errForgetful = errors.New("that replica has lost what it acknowledged: it gets nothing more")

// amnesiaNotice tells a replica that it has lost what it acknowledged.
type amnesiaNotice struct {
	ServerID        string
	Term, Had, Left uint64
}

// rolledBackPause is how often a replica that has lost what it acknowledged is looked at.
const rolledBackPause = time.Second

// tellForgetful has a follower stop that has lost what it acknowledged, and takes it back once its own disk is back.
func (c *Cluster) tellForgetful(id raft.ServerID, n amnesiaNotice) {
	name, _ := identity.Split(id)
	c.log.Error("a replica has lost entries that it acknowledged: its disk has gone back; put its own disk back, or wipe it, remove it and join anew",
		"replica", name, "acknowledged", n.Had, "last", n.Left)
	if c.peer == nil {
		return
	}
	c.goRun(func() {
		for told := false; c.serves(id, n.Term); {
			if c.hasItsDiskBack(id, n) {
				c.wire.acks.restored(id, n.Term)
				c.log.Info("a replica has all that it acknowledged again: its disk is back", "replica", name, "acknowledged", n.Had)
				return
			}
			told = c.stopRolledBack(id, n, told)
			if !c.pause(rolledBackPause) {
				return
			}
		}
	})
}

// stopRolledBack tells a replica that it has lost what it acknowledged. It may have to be told again: after a start
// with the same disk nobody else sends it anything.
func (c *Cluster) stopRolledBack(id raft.ServerID, n amnesiaNotice, told bool) bool {
	s, ok := find(c.configuration(), string(id))
	if !ok {
		return told
	}
	ctx, cancel := context.WithTimeout(c.ctx, 2*infoTimeout)
	defer cancel()
	if _, err := ask[none](ctx, c.peer, string(s.Address), methodForgot, n); err != nil && !told {
		c.log.Warn("it was not stopped", "replica", id, "error", err)
	}
	return true
}

// hasItsDiskBack says whether a replica has again what it had acknowledged. Its applied entries are committed ones;
// and by the log matching property, all before an entry that both have is the same in both logs.
func (c *Cluster) hasItsDiskBack(id raft.ServerID, n amnesiaNotice) bool {
	s, ok := find(c.configuration(), string(id))
	if !ok {
		return false
	}
	i, ok := c.askWithin(infoTimeout, raft.Configuration{Servers: []raft.Server{s}})[id]
	if !ok {
		return false
	}
	return i.Applied >= n.Had || i.LastIndex >= n.Had && (i.LastTerm == n.Term || c.hasEntry(i.LastIndex, i.LastTerm))
}

// forgotHere stops this replica when a leader has proof against its disk. One that was started again with that disk
// hears of no leader but by this.
func (c *Cluster) forgotHere(from string, n amnesiaNotice) error {
	if n.ServerID != string(c.Identity().ServerID()) {
		return errors.New("not this replica")
	}
	if _, leader := c.current().raft.LeaderWithID(); leader != "" && leader != raft.ServerID(from) || n.Term < c.Term() {
		return errors.New("not from this term's leader")
	}
	if last := c.LastIndex(); last >= n.Had {
		return fmt.Errorf("nothing is missing: the log ends at %d", last)
	}
	c.guard.Fail(exitcode.Store, fmt.Errorf("%w: its log ended at %d where %d was acknowledged in term %d: put its own disk back in %s, or wipe it, \"rmd cluster remove %s\", and join anew",
		ErrForgetful, n.Left, n.Had, n.Term, c.cfg.DataDir, c.cfg.ID))
	return nil
}
