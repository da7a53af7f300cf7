package ipc

import (
	"net/netip"
	"time"

	"google.golang.org/protobuf/proto"
)

// Kinds of proof of a caller.
const (
	KindSimple = "SIMPLE" // the caller's own word
	KindToken  = "TOKEN"  // a token that Password knows
)

// Caller is who is at the other end of a connection. It is shared by all calls
// of the connection and must not be changed.
type Caller struct {
	// User is whom the call is for: the effective user of the context, or the
	// user of the token.
	User string
	// RealUser is who acts for User; empty when it is User itself.
	RealUser string
	// Kind is KindSimple or KindToken.
	Kind string
	// Identifier is the token's, nil without a token.
	Identifier []byte
	// Address is where the connection comes from; zero when that is no IP address.
	Address netip.AddrPort
}

// Call is one request on its way through a handler.
type Call struct {
	// Caller is who asks, Conn the connection that it asks over.
	Caller *Caller
	Conn   *Conn
	// Protocol and Method are what is called.
	Protocol, Method string
	// ClientID and ID name the call; RetryCount rises when the same call is
	// repeated, also at another server. ClientID is 16 bytes from Java clients.
	ClientID   string
	ID         int32
	RetryCount int32
	// Received is when its frame was complete.
	Received time.Time

	entry    *entry
	req      proto.Message
	body     []byte
	inline   bool
	detached bool
	weight   int64 // of its bytes among those of large requests
}

// Detach lets the connection go on reading although the handler has not
// returned. A handler of a method that is marked Inline calls it before it
// waits, on its own goroutine; elsewhere, and the second time, it does nothing.
func (c *Call) Detach() {
	if !c.inline || c.detached {
		return
	}
	c.detached = true
	c.Conn.handOver(c.body != nil)
}
