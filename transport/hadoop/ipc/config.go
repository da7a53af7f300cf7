package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Auth says how callers of a port prove who they are.
type Auth uint8

// What a port offers. YARN's scheduler port offers TOKEN alone, its client port
// TOKEN and SIMPLE, the others SIMPLE.
const (
	AuthSimple Auth = iota
	AuthTokenSimple
	AuthToken
)

// String is the list as Hadoop writes it in its refusals.
func (a Auth) String() string {
	switch a {
	case AuthTokenSimple:
		return "[TOKEN, SIMPLE]"
	case AuthToken:
		return "[TOKEN]"
	}
	return "[SIMPLE]"
}

func (a Auth) token() bool  { return a != AuthSimple }
func (a Auth) simple() bool { return a != AuthToken }

// Config says what a port serves, to whom, and within which bounds.
type Config struct {
	// Logger is required.
	Logger hclog.Logger
	// Name names the port in log lines, as "scheduler".
	Name string
	// Listen is the address to listen on, host:port. Listener takes its place
	// when it is set; the server closes it.
	Listen   string
	Listener net.Listener
	// Auth is what the port offers.
	Auth Auth
	// Password finds a token's user and password by its identifier. It may wait.
	// An *Error of its own is sent as it is (InvalidToken says that the token is
	// unknown, which ends the caller's retries); what Translate knows is
	// translated; any other error becomes StandbyException, so that the caller
	// tries elsewhere. Required unless Auth is AuthSimple.
	Password func(ctx context.Context, identifier []byte) (user string, password []byte, err error)
	// Protocols are what is served.
	Protocols []Protocol
	// MayImpersonate decides whether real may act for effective from ip. Nil
	// refuses all.
	MayImpersonate func(real, effective string, ip netip.Addr) error
	// Standby, when it returns an error, makes the port refuse with it, as a
	// YARN standby does, at whatever stage a connection is. An *Error is sent as
	// it is, any other as StandbyException. Nil never refuses.
	Standby func() error
	// Translate turns a handler's error into what is sent. It is asked for what
	// is no *Error; when it is nil or returns nil, YarnException is sent.
	Translate func(error) *Error
	// Observe sees calls and connections.
	Observe Observe

	// FrameMax bounds a request in bytes. HandshakeFrameMax bounds it until the
	// caller is known.
	FrameMax          int
	HandshakeFrameMax int
	// LargeFramesMax bounds the bytes of all frames beyond the ordinary size that
	// are being received at one time.
	LargeFramesMax int
	// LargeRequestsMax bounds the bytes of such frames that are being served. One that
	// does not fit waits for others to end.
	LargeRequestsMax int
	// ConnsMax bounds the connections, ConnsPerAddressMax those of one address (0:
	// half of ConnsMax). One too many takes the place of an idle one.
	ConnsMax           int
	ConnsPerAddressMax int
	// CallsPerConnMax bounds the calls in flight of one connection, CallsMax those
	// of all.
	CallsPerConnMax int
	CallsMax        int
	// OutputMax bounds the bytes of replies that wait for one connection, beyond
	// the reply that passes the bound.
	OutputMax int
	// IdleTimeout ends a connection without calls.
	IdleTimeout time.Duration
	// HandshakeTimeout bounds preamble, SASL and context, without the time that
	// Password takes.
	HandshakeTimeout time.Duration
	// FirstCallTimeout bounds the time from there to the first call that is served.
	FirstCallTimeout time.Duration
	// FrameTimeout bounds the arrival of one frame after its first byte.
	FrameTimeout time.Duration
	// WriteTimeout ends a connection whose peer does not read.
	WriteTimeout time.Duration
	// CloseGrace is how long Close lets calls in flight finish.
	CloseGrace time.Duration
}

// Observe are functions that see what a server does. Each may be nil; they must
// not wait.
type Observe struct {
	// Call is told after each call: code is "OK" or the last name of the class
	// that was sent. What is not served here is told as "unknown".
	Call func(protocol, method, code string, took time.Duration)
	// Opened and Closed are told of each connection; reason is one of a few words.
	Opened func()
	Closed func(reason string)
}

// FrameMaxLimit is the most that FrameMax may be; it is Hadoop's own default.
const FrameMaxLimit = 128 << 20

// DefaultConfig returns the defaults; logger, address, callers and protocols are
// the caller's.
func DefaultConfig() Config {
	return Config{
		Name:              "ipc",
		Listen:            "127.0.0.1:0",
		FrameMax:          4 << 20,
		HandshakeFrameMax: 64 << 10,
		LargeFramesMax:    128 << 20,
		LargeRequestsMax:  64 << 20,
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

// Validate reports every fault of the configuration at once.
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
	if c.Auth > AuthToken {
		bad("unknown kind of authentication %d", c.Auth)
	}
	if c.Auth.token() && c.Password == nil {
		bad("a port that takes tokens needs the Password function")
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
	if c.ConnsMax < 1 || c.ConnsPerAddressMax < 0 || c.CallsPerConnMax < 1 || c.CallsMax < 1 || c.OutputMax < 1 {
		bad("bounds must be positive (start from DefaultConfig)")
	}
	if c.IdleTimeout <= 0 || c.HandshakeTimeout <= 0 || c.FirstCallTimeout <= 0 || c.FrameTimeout <= 0 || c.WriteTimeout <= 0 || c.CloseGrace < 0 {
		bad("time-outs must be positive (start from DefaultConfig)")
	}
	if _, err := register(c.Protocols); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
