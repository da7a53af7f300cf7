package succession

import "encoding/binary"

// PeerStatus is what a replica sends on liveness connections.
type PeerStatus struct {
	Term, LastTerm, LastIndex, Applied uint64
	// DeadLeaderTerm is the term whose leader this replica knows to be dead, 0 for none.
	DeadLeaderTerm uint64
	// HearsLeader is true if the replica heard from a leader within the heartbeat timeout, or leads
	// itself.
	HearsLeader bool
}

const (
	statusVersion = 1
	statusSize    = 42
)

// Encode returns the encoded status.
func (p PeerStatus) Encode() []byte {
	b := append(make([]byte, 0, statusSize), statusVersion, 0)
	if p.HearsLeader {
		b[1] = 1
	}
	for _, v := range []uint64{p.Term, p.LastTerm, p.LastIndex, p.Applied, p.DeadLeaderTerm} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

// DecodeStatus decodes a status. ok is false if b is not one.
func DecodeStatus(b []byte) (p PeerStatus, ok bool) {
	if len(b) != statusSize || b[0] != statusVersion || b[1] > 1 {
		return p, false
	}
	p.HearsLeader = b[1] == 1
	for i, v := range []*uint64{&p.Term, &p.LastTerm, &p.LastIndex, &p.Applied, &p.DeadLeaderTerm} {
		*v = binary.BigEndian.Uint64(b[2+8*i:])
	}
	return p, true
}

// shorter reports whether p's log ends before q's.
func (p PeerStatus) shorter(q PeerStatus) bool {
	return p.LastTerm < q.LastTerm || p.LastTerm == q.LastTerm && p.LastIndex < q.LastIndex
}

// final reports whether the log can get nothing more from the dead leader of a term.
func (p PeerStatus) final(term uint64) bool { return p.DeadLeaderTerm == term || p.Term > term }
