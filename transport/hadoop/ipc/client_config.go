package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/gss"
)

// ClientConfig is the configuration of a Client.
type ClientConfig struct {
	// Logger is required.
	Logger hclog.Logger
	// Dial opens a connection. If it is nil, TCP is used.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConnectTimeout limits dialing and the handshake together.
	ConnectTimeout time.Duration
	// CallTimeout limits a call whose context has no earlier deadline. It is accurate to an eighth.
	CallTimeout time.Duration
	// PingInterval is the interval of pings to a server that owes a reply.
	PingInterval time.Duration
	// IdleTimeout is the time after which a shared connection without calls is closed.
	IdleTimeout time.Duration
	// WriteTimeout is the time after which a connection is closed whose server does not read.
	WriteTimeout time.Duration
	// FrameMax limits a reply and OutputMax the unsent bytes of a connection, both in bytes.
	FrameMax  int
	OutputMax int
	// CallsPerConnMax limits the calls in flight on one connection. Further calls wait.
	CallsPerConnMax int
	// Protection are the qualities of protection that the client takes on connections with a token
	// or a ticket. It chooses the strongest that the server offers.
	Protection Protection
}

// DefaultClientConfig returns the defaults. The caller must set Logger.
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
		Protection:      Authentication,
	}
}

// Validate returns all errors of the configuration, joined.
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
	if c.Protection == 0 || c.Protection > Authentication|Integrity|Privacy {
		errs = append(errs, errors.New("Protection names no quality (start from DefaultClientConfig)"))
	}
	if c.OutputMax < 1 || c.CallsPerConnMax < 1 {
		errs = append(errs, errors.New("bounds must be positive (start from DefaultClientConfig)"))
	}
	return errors.Join(errs...)
}

// Token is a token that a server knows.
type Token struct {
	Identifier, Password []byte
}

// Target is a server with the credentials of the caller.
type Target struct {
	// Address is host:port.
	Address string
	// Protocol is the Java interface to call, in Version. Version 0 means 1.
	Protocol string
	Version  uint64
	// Token authenticates the caller if it is set. The server must accept it.
	Token *Token
	// Ticket returns a ticket for the service and the host that the server names. It must refuse
	// names that are not the server's. If it is set, User is the caller's principal, or the user for
	// whom it acts.
	Ticket func(service, host string) (gss.Ticket, error)
	// User is the caller's name if there is no token. RealUser is the user who acts for it, or "".
	User, RealUser string
	// Sasl makes a caller without a token negotiate, as Java clients do that have tokens for other
	// servers.
	Sasl bool
}

// Validate returns an error that names a missing field.
func (t Target) Validate() error {
	switch {
	case t.Address == "":
		return errors.New("target has no address")
	case t.Protocol == "":
		return errors.New("target has no protocol")
	case t.Token != nil && t.Ticket != nil:
		return errors.New("target has a token and a ticket")
	case t.Token == nil && t.User == "":
		return errors.New("target has neither token nor user")
	}
	return nil
}

// identity is the key by which connections are shared.
type identity struct {
	address, user, realUser, identifier, password string
	sasl, ticket                                  bool
}

func (t Target) identity() identity {
	id := identity{address: t.Address, user: t.User, realUser: t.RealUser, sasl: t.Sasl, ticket: t.Ticket != nil}
	if t.Token != nil {
		id.identifier, id.password, id.sasl = string(t.Token.Identifier), string(t.Token.Password), true
	}
	return id
}
