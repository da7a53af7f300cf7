package rafttransport

import (
	"errors"
	"sync"

	"github.com/hashicorp/raft"
)

// A disk that was restored from an older copy lacks entries, and perhaps votes, that its replica
// had acknowledged. Within one term only that term's leader can shorten a follower's log, and never
// below what the follower acknowledged to it. So the leader remembers the highest index that each
// follower acknowledged. If a follower refuses a request and reports a shorter log than it had
// acknowledged before the request, its log was rolled back. The leader quarantines such a follower:
// it sends it nothing more in that term.
//
// The leader cannot detect a disk that was restored while leadership changed, nor one that lost
// only a vote.

// ack is the highest index that a follower acknowledged in a term.
type ack struct{ term, index uint64 }

// ackTracker remembers what followers have acknowledged to this replica.
type ackTracker struct {
	mu          sync.Mutex
	acks        map[raft.ServerID]ack
	quarantined map[raft.ServerID]Rollback // the proof for each quarantined replica
}

func newAckTracker() *ackTracker {
	return &ackTracker{acks: map[raft.ServerID]ack{}, quarantined: map[raft.ServerID]Rollback{}}
}

// floor returns the highest index that a follower has acknowledged in a term. ok is false while the
// follower is quarantined.
func (b *ackTracker) floor(id raft.ServerID, term uint64) (index uint64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.acks[id]; a.term == term {
		index = a.index
	}
	return index, b.quarantined[id].Term != term || term == 0
}

// last returns the newest acknowledgement of a follower.
func (b *ackTracker) last(id raft.ServerID) ack {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.acks[id]
}

// rolledBack returns the proofs of a term.
func (b *ackTracker) rolledBack(term uint64) []Rollback {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Rollback
	for _, r := range b.quarantined { // the order does not matter
		if r.Term == term {
			out = append(out, r)
		}
	}
	return out
}

// readmit ends the quarantine of a replica in a term.
func (b *ackTracker) readmit(id raft.ServerID, term uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.quarantined[id].Term == term {
		delete(b.quarantined, id)
	}
}

// observe records an answer. A success may raise the acknowledged index. A refusal with a log that
// ends below floor proves a rollback.
func (b *ackTracker) observe(id raft.ServerID, q *raft.AppendEntriesRequest, r *raft.AppendEntriesResponse,
	floor uint64) (rolledBack bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Success {
		to := lastIndexOf(q)
		if a := b.acks[id]; q.Term > a.term || (q.Term == a.term && to > a.index) {
			b.acks[id] = ack{q.Term, to}
		}
		return false
	}
	if r.Term != q.Term || r.LastLog >= floor {
		return false
	}
	if b.quarantined[id].Term != q.Term {
		b.quarantined[id] = Rollback{string(id), q.Term, floor, r.LastLog}
	}
	return true
}

var errQuarantined = errors.New("log rollback: the replica lost entries that it acknowledged and is in quarantine")

// Rollback is the proof that a replica has lost entries that it acknowledged. Its JSON names are
// part of the protocol between replicas.
type Rollback struct {
	ServerID     string `json:"ServerID"`
	Term         uint64 `json:"Term"` // the term in which it acknowledged them
	Acknowledged uint64 `json:"Had"`  // the highest index that it acknowledged
	Last         uint64 `json:"Left"` // the index at which its log ended afterwards
}

// RolledBack returns the replicas that have lost entries which they acknowledged in a term.
func (tr *Transport) RolledBack(term uint64) []Rollback { return tr.acks.rolledBack(term) }

// Readmit ends the quarantine of a replica in a term.
func (tr *Transport) Readmit(id raft.ServerID, term uint64) { tr.acks.readmit(id, term) }

// Stored returns the highest index up to which a follower has stored this leader's log in a term, as
// far as it has acknowledged it.
func (tr *Transport) Stored(id raft.ServerID, term uint64) uint64 {
	index, _ := tr.acks.floor(id, term)
	return index
}
