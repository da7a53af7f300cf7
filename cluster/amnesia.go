package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
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
	outlaw map[raft.ServerID]uint64 // the term in which it was found to be forgetful
}

func newAckBook() *ackBook {
	return &ackBook{acks: map[raft.ServerID]ack{}, outlaw: map[raft.ServerID]uint64{}}
}

// floor is what a follower has acknowledged in a term so far; ok is false when nothing may be sent to it.
func (b *ackBook) floor(id raft.ServerID, term uint64) (index uint64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.acks[id]; a.term == term {
		index = a.index
	}
	return index, b.outlaw[id] != term || term == 0
}

// reach is the index up to which a follower that takes a request has what its leader has.
func reach(q *raft.AppendEntriesRequest) uint64 { return q.PrevLogEntry + uint64(len(q.Entries)) }

// of is what a follower has acknowledged last.
func (b *ackBook) of(id raft.ServerID) ack {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.acks[id]
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
	b.outlaw[id] = q.Term
	return true
}

var errForgetful = errors.New("that replica has lost what it acknowledged: it gets nothing more")

// amnesiaNotice tells a replica that it has lost what it acknowledged.
type amnesiaNotice struct {
	ServerID        string
	Term, Had, Left uint64
}

// tellForgetful has a follower stop that has lost what it acknowledged.
func (c *Cluster) tellForgetful(id raft.ServerID, to raft.ServerAddress, n amnesiaNotice) {
	name, _ := splitServerID(id)
	c.log.Error("a replica has lost entries that it acknowledged: its disk has gone back", "replica", name, "acknowledged", n.Had, "last", n.Left)
	if c.peer == nil {
		return
	}
	c.goRun(func() {
		ctx, cancel := context.WithTimeout(c.ctx, 2*infoTimeout)
		defer cancel()
		if _, err := ask[none](ctx, c.peer, string(to), methodForgot, n); err != nil {
			c.log.Warn("it was not stopped", "replica", name, "error", err)
		}
	})
}

// forgotHere stops this replica when the leader that it follows has proof against its disk.
func (c *Cluster) forgotHere(from string, n amnesiaNotice) error {
	if n.ServerID != string(c.Identity().ServerID()) {
		return errors.New("not this replica")
	}
	if id, _ := c.Leader(); id != from || c.Term() != n.Term {
		return errors.New("not from this term's leader")
	}
	c.guard.fail(ExitStore, fmt.Errorf("%w: its log ended at %d where %d was acknowledged in term %d: wipe %s, \"rmd cluster remove %s\", and join anew",
		ErrForgetful, n.Left, n.Had, n.Term, c.cfg.DataDir, c.cfg.ID))
	return nil
}
