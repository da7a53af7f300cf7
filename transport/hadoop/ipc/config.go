package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/gss"
)

// Auth is the way in which callers of a port are authenticated.
type Auth uint8

// The values of Auth. YARN's scheduler port offers TOKEN, its client port TOKEN and SIMPLE, and the
// other ports SIMPLE. With Kerberos, KERBEROS takes the place of SIMPLE.
const (
	AuthSimple Auth = iota
	AuthTokenSimple
	AuthToken
	AuthTokenKerberos
	AuthKerberos
)

// String returns the list as Hadoop writes it in refusals.
func (a Auth) String() string {
	switch a {
	case AuthTokenSimple:
		return "[TOKEN, SIMPLE]"
	case AuthToken:
		return "[TOKEN]"
	case AuthTokenKerberos:
		return "[TOKEN, KERBEROS]"
	case AuthKerberos:
		return "[KERBEROS]"
	}
	return "[SIMPLE]"
}

func (a Auth) token() bool    { return a != AuthSimple && a != AuthKerberos }
func (a Auth) simple() bool   { return a == AuthSimple || a == AuthTokenSimple }
func (a Auth) kerberos() bool { return a == AuthTokenKerberos || a == AuthKerberos }

// Config is the configuration of a Server.
type Config struct {
	// Logger is required.
	Logger hclog.Logger
	// Name is the port's name in log lines, for instance "scheduler".
	Name string
	// Listen is the address of the listener, host:port. If Listener is set, the server uses it
	// instead, and closes it.
	Listen   string
	Listener net.Listener
	// Auth is the authentication that the port offers.
	Auth Auth
	// Kerberos is required if Auth has KERBEROS.
	Kerberos *Kerberos
	// Protection returns the qualities of protection that a peer may choose on connections with a
	// token or a ticket. If it is nil, only Authentication is offered.
	Protection func(peer netip.Addr) Protection
	// Password returns the user and the password of a token. It may block. It is required if Auth
	// has TOKEN. An *Error is sent unchanged; InvalidToken means that the token is unknown
	// and ends the caller's retries. An error that Translate knows is translated. Any other error
	// is sent as StandbyException, so that the caller tries another server.
	Password func(ctx context.Context, identifier []byte) (user string, password []byte, err error)
	// Protocols are the protocols that the port serves.
	Protocols []Protocol
	// CheckUser returns an error if a caller may not have a name. It is called for each effective and
	// real user. It may be nil.
	CheckUser func(name string) error
	// MayImpersonate returns an error if the user real may not act for effective from ip. If it is
	// nil, nobody may.
	MayImpersonate func(real, effective string, ip netip.Addr) error
	// Authorize returns an error if a caller may not use a protocol, which may be one that no port
	// serves. It may block. It is called for the protocol of the connection context, and again when a
	// call names another one. If it is nil, everybody may use all protocols.
	Authorize func(c *Caller, protocol string) error
	// Standby may return an error. The port then refuses with it, in every phase of a connection,
	// as a YARN standby does. An *Error is sent unchanged, and any other error as StandbyException.
	// Standby may be nil.
	Standby func() error
	// Translate converts a handler's error that is not an *Error. If it is nil or returns nil,
	// YarnException is sent.
	Translate func(error) *Error
	// Observe is called for calls and connections.
	Observe Observe

	// FrameMax limits a request, in bytes. HandshakeFrameMax limits a frame before the caller is
	// authenticated.
	FrameMax          int
	HandshakeFrameMax int
	// LargeFramesMax limits the total bytes of the large frames that are being received. One
	// address may use half of it.
	LargeFramesMax int
	// LargeRequestsMax limits the memory of the large requests that are being served, in bytes
	// after decoding. A request waits while others use it. One address may use half of it, so a
	// request that needs more than half is refused. Where the port also takes tokens, callers
	// without one may use three quarters. The next limit has the same shares.
	LargeRequestsMax int
	// LargeRepliesMax limits the calls that make a large reply at the same time.
	LargeRepliesMax int
	// UnreadMax limits the total bytes of replies that wait to be sent. When they exceed it, the
	// server closes connections whose peers do not read.
	UnreadMax int
	// ConnsMax limits the connections, and ConnsPerAddressMax those of one address. 0 means half of
	// ConnsMax. A further connection replaces an idle one.
	ConnsMax           int
	ConnsPerAddressMax int
	// CallsPerConnMax limits the calls in flight on one connection, and CallsMax those on all
	// connections.
	CallsPerConnMax int
	CallsMax        int
	// OutputMax limits the unsent bytes of replies on one connection. The reply that exceeds it is
	// still accepted.
	OutputMax int
	// IdleTimeout is the time after which a connection without calls is closed.
	IdleTimeout time.Duration
	// HandshakeTimeout limits preamble, SASL and connection context, without the time of Password.
	HandshakeTimeout time.Duration
	// FirstCallTimeout limits the time from the connection context to the first served call.
	FirstCallTimeout time.Duration
	// FrameTimeout limits the time in which one frame arrives after its first byte.
	FrameTimeout time.Duration
	// WriteTimeout is the time after which a connection is closed whose peer does not read.
	WriteTimeout time.Duration
	// CloseGrace is the time that Close waits for calls in flight.
	CloseGrace time.Duration
}

// Observe has functions that observe a server. Each may be nil. They must not block.
type Observe struct {
	// Call is called after each call. code is "OK" or the last part of the exception's class. A
	// method that is not served is "unknown".
	Call func(protocol, method, code string, took time.Duration)
	// Opened and Closed are called for each connection. reason is one of a few words.
	Opened func()
	Closed func(reason string)
	// Handshake is called when a caller is authenticated by method (KindSimple, KindToken or
	// KindKerberos), or is not. outcome is "OK" or the last part of the exception's class; for a
	// refused ticket it is a gss.Reason, or what of the negotiation failed.
	Handshake func(method, outcome string)
}

// FrameMaxLimit is the highest FrameMax, in bytes. It is Hadoop's default of
// ipc.maximum.data.length.
const FrameMaxLimit = 128 << 20

// DefaultConfig returns the defaults. The caller must set Logger, Listen, Auth, Password and
// Protocols.
func DefaultConfig() Config {
	return Config{
		Name:              "ipc",
		Listen:            "127.0.0.1:0",
		FrameMax:          4 << 20,
		HandshakeFrameMax: 64 << 10,
		LargeFramesMax:    64 << 20,
		LargeRequestsMax:  64 << 20,
		LargeRepliesMax:   max(8, runtime.GOMAXPROCS(0)),
		UnreadMax:         32 << 20,
		ConnsMax:          16384,
		CallsPerConnMax:   256,
		CallsMax:          16384,
		OutputMax:         8 << 20,
		IdleTimeout:       2 * time.Minute,
		HandshakeTimeout:  5 * time.Second,
		FirstCallTimeout:  20 * time.Second,
		FrameTimeout:      20 * time.Second,
		WriteTimeout:      20 * time.Second,
		CloseGrace:        5 * time.Second,
	}
}

// Validate returns all errors of the configuration, joined.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.Logger == nil {
		bad("logger is missing")
	}
	if c.Listener == nil {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			bad("address %q: %w", c.Listen, err)
		}
	}
	if c.Auth > AuthKerberos {
		bad("unknown kind of authentication %d", c.Auth)
	}
	if c.Auth.token() && c.Password == nil {
		bad("a port that takes tokens needs the Password function")
	}
	if c.Auth.kerberos() && (c.Kerberos == nil || c.Kerberos.Acceptor == nil || c.Kerberos.Short == nil) {
		bad("a port that takes tickets needs Kerberos with its acceptor and its rules of names")
	}
	if c.Auth.kerberos() && c.HandshakeFrameMax < gss.TokenMax+wrapMax {
		bad("HandshakeFrameMax must have room for a ticket of %d bytes", gss.TokenMax)
	}
	if c.FrameMax < 1<<10 || c.FrameMax > FrameMaxLimit {
		bad("FrameMax must be 1 KiB to 128 MiB, is %d bytes", c.FrameMax)
	}
	if c.HandshakeFrameMax < 1<<10 || c.HandshakeFrameMax > FrameMaxLimit {
		bad("HandshakeFrameMax must be 1 KiB to 128 MiB, is %d bytes", c.HandshakeFrameMax)
	}
	if c.LargeFramesMax < 2*max(c.FrameMax, c.HandshakeFrameMax) {
		bad("LargeFramesMax must be twice FrameMax or more, is %d bytes", c.LargeFramesMax)
	}
	if c.LargeRequestsMax < c.FrameMax {
		bad("LargeRequestsMax must be FrameMax or more, is %d bytes", c.LargeRequestsMax)
	}
	if c.LargeRepliesMax < 1 || c.UnreadMax < c.OutputMax {
		bad("LargeRepliesMax must be positive, and UnreadMax OutputMax or more")
	}
	if c.ConnsMax < 1 || c.ConnsPerAddressMax < 0 || c.CallsPerConnMax < 1 || c.CallsMax < 1 || c.OutputMax < 1 {
		bad("bounds must be positive (start from DefaultConfig)")
	}
	if c.IdleTimeout <= 0 || c.HandshakeTimeout <= 0 || c.FirstCallTimeout <= 0 || c.FrameTimeout <= 0 ||
		c.WriteTimeout <= 0 || c.CloseGrace < 0 {
		bad("time-outs must be positive (start from DefaultConfig)")
	}
	if _, err := register(c.Protocols); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
