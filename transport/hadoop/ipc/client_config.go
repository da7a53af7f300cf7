package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
)

// ClientConfig says how servers are called.
type ClientConfig struct {
	// Logger is required.
	Logger hclog.Logger
	// Dial opens a connection; nil stands for TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConnectTimeout bounds dialing and the handshake together.
	ConnectTimeout time.Duration
	// CallTimeout bounds a call whose context has no earlier end. It is measured
	// to an eighth.
	CallTimeout time.Duration
	// PingInterval is how often a server is pinged that owes a reply.
	PingInterval time.Duration
	// IdleTimeout ends a shared connection without calls.
	IdleTimeout time.Duration
	// WriteTimeout ends a connection whose server does not read.
	WriteTimeout time.Duration
	// FrameMax bounds a reply, OutputMax the bytes that wait to be sent.
	FrameMax  int
	OutputMax int
	// CallsPerConnMax bounds the calls in flight of one connection; more wait.
	CallsPerConnMax int
}

// DefaultClientConfig returns the defaults; the logger is the caller's.
func DefaultClientConfig() ClientConfig {
	return ClientConfig{
		ConnectTimeout:  5 * time.Second,
		CallTimeout:     30 * time.Second,
		PingInterval:    10 * time.Second,
		IdleTimeout:     10 * time.Second,
		WriteTimeout:    20 * time.Second,
		FrameMax:        64 << 20,
		OutputMax:       8 << 20,
		CallsPerConnMax: 1024,
	}
}

// Validate reports every fault of the configuration at once.
func (c ClientConfig) Validate() error {
	var errs []error
	if c.Logger == nil {
		errs = append(errs, errors.New("logger is missing"))
	}
	if c.ConnectTimeout <= 0 || c.CallTimeout <= 0 || c.PingInterval <= 0 || c.IdleTimeout <= 0 || c.WriteTimeout <= 0 {
		errs = append(errs, errors.New("time-outs must be positive (start from DefaultClientConfig)"))
	}
	if c.FrameMax < 1<<10 || c.FrameMax > FrameMaxLimit {
		errs = append(errs, fmt.Errorf("FrameMax must be 1 KiB to 128 MiB, is %d bytes", c.FrameMax))
	}
	if c.OutputMax < 1 || c.CallsPerConnMax < 1 {
		errs = append(errs, errors.New("bounds must be positive (start from DefaultClientConfig)"))
	}
	return errors.Join(errs...)
}

// Token is a secret that a server knows by its identifier.
type Token struct {
	Identifier, Password []byte
}

// Target is a server, and as whom to call it.
type Target struct {
	// Address is host:port.
	Address string
	// Protocol is the Java interface to call, Version 1 when it is 0.
	Protocol string
	Version  uint64
	// Token authenticates the caller when it is set; the server must take it.
	Token *Token
	// User is who calls without a token; RealUser who acts for it, if another.
	User, RealUser string
	// Sasl makes a caller without a token negotiate nevertheless, as Java clients
	// do that hold tokens for other servers.
	Sasl bool
}

// Validate says what is missing.
func (t Target) Validate() error {
	switch {
	case t.Address == "":
		return errors.New("target has no address")
	case t.Protocol == "":
		return errors.New("target has no protocol")
	case t.Token == nil && t.User == "":
		return errors.New("target has neither token nor user")
	}
	return nil
}

// identity is what connections are shared by.
type identity struct {
	address, user, realUser, identifier, password string
	sasl                                          bool
}

func (t Target) identity() identity {
	id := identity{address: t.Address, user: t.User, realUser: t.RealUser, sasl: t.Sasl}
	if t.Token != nil {
		id.identifier, id.password, id.sasl = string(t.Token.Identifier), string(t.Token.Password), true
	}
	return id
}
