package ipc

import (
	"net/netip"
	"time"

	"google.golang.org/protobuf/proto"
)

// The ways in which a caller is authenticated.
const (
	KindSimple   = "SIMPLE"   // the caller states its name, without proof
	KindToken    = "TOKEN"    // the caller knows the password of a token
	KindKerberos = "KERBEROS" // the caller has a ticket
)

// Caller is the authenticated caller of a connection. All calls of the connection share it, so it
// must not be changed.
type Caller struct {
	// User is the user for whom the call is made: the effective user of the connection context, or
	// the user of the token.
	User string
	// RealUser is the user who acts for User (a proxy user). It is "" if that is User itself.
	RealUser string
	// Principal is the principal that authenticated, or "". It is that of RealUser if there is one.
	Principal string
	// Kind is KindSimple, KindToken or KindKerberos.
	Kind string
	// Identifier is the identifier of the token, or nil.
	Identifier []byte
	// Address is the remote address of the connection. It is zero if that is not an IP address.
	Address netip.AddrPort
}

// Call is a request that a handler processes.
type Call struct {
	// Caller made the call over the connection Conn.
	Caller *Caller
	Conn   *Conn
	// Protocol and Method name the called method.
	Protocol, Method string
	// ClientID and ID identify the call. RetryCount is higher when the call is repeated, also at
	// another server. The ClientID of Java clients has 16 bytes.
	ClientID   string
	ID         int32
	RetryCount int32
	// Received is the time when the frame was complete.
	Received time.Time

	entry    *entry
	req      proto.Message
	body     []byte
	inline   bool
	detached bool
	weight   int64 // memory of a large request, which counts against Config.LargeRequestsMax
	building bool  // it has its turn to make a large reply
}

// Detach lets another goroutine continue to read the connection before the handler returns. A
// handler of an Inline method must call it before it waits, on its own goroutine. In other
// handlers, and when called again, it does nothing.
func (c *Call) Detach() {
	if !c.inline || c.detached {
		return
	}
	c.detached = true
	c.Conn.handOver(c.body != nil)
}
