package cluster

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Peer is the wire to the other replicas, as this package needs it. Addresses are what replicas
// advertise. *peer.Server of transport/peer is one.
type Peer interface {
	// Addr is the address others dial.
	Addr() string
	// Identify tells the wire who this replica is; again when the cluster id becomes known.
	Identify(incarnation, clusterID string)
	// SetKey gives the wire the key with which this replica proves who it is. Proves says whether it does so, and
	// whether the others have to.
	SetKey(key ed25519.PrivateKey)
	Proves() bool
	// SetGate sets the rules. meet judges the replica, ID.INCARNATION, at the other end of a new connection, and
	// returns the name of a refusal or nothing. kind is raft, liveness or rpc; addr is where it was dialed, empty when
	// it called; serial is its certificate's; key is the one it has shown to own, nil for none. calls judges each call
	// that arrives, asks each that is to be sent. Recheck asks meet again about all open connections.
	SetGate(meet func(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string), calls, asks func(method byte, server string) error)
	Recheck()
	// Transport makes Raft's transport. It must not keep a heartbeat handler.
	Transport(timeout time.Duration, logger hclog.Logger) raft.Transport
	// Call and Handle are request and reply; from is the caller's ID.INCARNATION.
	Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error)
	Handle(method byte, h func(ctx context.Context, from string, req []byte) ([]byte, error))
	// Watch keeps liveness connections to the given replicas (configured id to address); note is what
	// is told on them, gone is called with proof that a replica's process has ended.
	Watch(peers map[string]string, note func() []byte, gone func(id string))
	// Note is what a replica told last, and when; Heard is closed when the next note arrives.
	Note(id string) ([]byte, time.Time)
	Heard() <-chan struct{}
	// Nudge tells this replica's note at once.
	Nudge()
}

// position is where a replica stands: its note on liveness connections.
type position struct {
	Term, LastTerm, LastIndex, Applied uint64
	// Gone is the term whose leader this replica has proof to be gone, 0 for none.
	Gone uint64
	// Hears says that a leader was heard from within a heartbeat timeout.
	Hears bool
}

const (
	positionVersion = 1
	positionSize    = 42
)

// encode returns the note.
func (p position) encode() []byte {
	b := append(make([]byte, 0, positionSize), positionVersion, 0)
	if p.Hears {
		b[1] = 1
	}
	for _, v := range []uint64{p.Term, p.LastTerm, p.LastIndex, p.Applied, p.Gone} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

// decodePosition reads a note; ok is false for anything else.
func decodePosition(b []byte) (p position, ok bool) {
	if len(b) != positionSize || b[0] != positionVersion || b[1] > 1 {
		return p, false
	}
	p.Hears = b[1] == 1
	for i, v := range []*uint64{&p.Term, &p.LastTerm, &p.LastIndex, &p.Applied, &p.Gone} {
		*v = binary.BigEndian.Uint64(b[2+8*i:])
	}
	return p, true
}
