package cluster

import (
	"context"
	"crypto/ed25519"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/succession"
)

// Peer is the connections to the other replicas, as this package needs them. Addresses are what
// replicas advertise. *peer.Server of transport/peer is one.
type Peer interface {
	// Addr is the address others dial.
	Addr() string
	// Identify sets who this replica is; again when the cluster id becomes known.
	Identify(incarnation, clusterID string)
	// SetKey sets the key with which this replica proves who it is. Proves says whether replicas
	// have to.
	SetKey(key ed25519.PrivateKey)
	Proves() bool
	// SetGate sets the rules. admitConn judges the replica, ID.INCARNATION, at the other end of a
	// new connection, and returns the name of a refusal or nothing. kind is raft, liveness or rpc;
	// addr is where it was dialed, empty when it called; serial is its certificate's; key is the
	// one it has proven to own, nil for none. authorizeCall judges each call that arrives,
	// authorizeAnswer each that is to be sent. member says whether a replica is one: others are
	// given less room. Recheck judges all open connections again.
	SetGate(admitConn func(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string), authorizeCall, authorizeAnswer func(method byte, server string) error, member func(server string) bool)
	Recheck()
	// Transport makes Raft's transport. It must not keep a heartbeat handler.
	Transport(timeout time.Duration, logger hclog.Logger) raft.Transport
	// Call and Handle are request and reply; from is the caller's ID.INCARNATION.
	Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error)
	Handle(method byte, h func(ctx context.Context, from string, req []byte) ([]byte, error))
	// Watch keeps liveness connections to the given replicas (configured id to address). status is
	// what is sent on them; dead is called with proof that a replica's process has ended.
	Watch(peers map[string]string, status func() []byte, dead func(id string))
	succession.Peers
}
