package local

import (
	"context"
	"crypto/ed25519"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/succession"
)

// Peer has the connections to the other replicas. Addresses are those that replicas advertise.
// *peer.Server of transport/peer implements it.
type Peer interface {
	// Addr returns the address that other replicas dial.
	Addr() string
	// Identify sets the identity of this replica. It is called again when the cluster id changes.
	Identify(incarnation, clusterID string)
	// SetKey sets the key with which this replica proves its identity. Proves reports whether
	// replicas must prove theirs.
	SetKey(key ed25519.PrivateKey)
	Proves() bool
	// SetGate sets the access rules. admitConn decides about a new connection to the replica server
	// (ID.INCARNATION) and returns the code and text of a refusal, or "". kind is raft, liveness or
	// rpc; addr is the dialed address, or empty if server dialed; serial is that of server's
	// certificate; key is the key that server has proved to own, or nil. authorizeCall decides
	// about each call that arrives, authorizeAnswer about each call before it is sent. member
	// reports whether a replica is a member: non-members get smaller limits. Recheck applies the
	// rules to all open connections again.
	SetGate(admitConn func(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string), authorizeCall,
		authorizeAnswer func(method byte, server string) error, member func(server string) bool)
	Recheck()
	// Transport returns the transport for Raft. It must not use a heartbeat handler.
	Transport(timeout time.Duration, logger hclog.Logger) raft.Transport
	// Call sends a request and returns the reply. Handle registers a handler; from is the caller's
	// ID.INCARNATION.
	Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error)
	Handle(method byte, h func(ctx context.Context, from string, req []byte) ([]byte, error))
	// Reach opens a new connection to the replica at addr, as an election would, and closes it. Its
	// error says why that is not possible.
	Reach(ctx context.Context, addr string) error
	// Watch keeps liveness connections to the given replicas (configured id to address) and closes
	// all others. status returns what is sent on them. dead is called with proof that a replica's
	// process has ended.
	Watch(peers map[string]string, status func() []byte, dead func(id string))
	succession.Peers
}
