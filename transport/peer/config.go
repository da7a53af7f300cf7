package peer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Config says who this replica is and where it listens.
type Config struct {
	// ClusterName must be equal on all replicas.
	ClusterName string
	// ID is the configured id of this replica.
	ID string
	// Listen is the address of the listener, host:port.
	Listen string
	// Advertise is the address that others dial; empty: the listener's own.
	Advertise string
	// TLS holds this replica's certificate, RootCAs and ClientCAs. Nil is allowed on loopback only.
	TLS *tls.Config
	// FreshTLS returns the configuration that replaces TLS at each new connection, for certificates
	// that are renewed; nil: TLS itself. It may only be set together with TLS.
	FreshTLS func() *tls.Config
	// Logger is required.
	Logger hclog.Logger
	// HandshakeTimeout bounds TLS and hello together.
	HandshakeTimeout time.Duration
	// FrameMax bounds one rpc frame in bytes.
	FrameMax int
	// InFlightMax bounds the calls in flight on one connection, on either side.
	InFlightMax int
	// ConnsMax bounds the connections with replicas, and PendingMax the accepted ones that
	// have not sent a hello: one more evicts the oldest from the address that has the most.
	ConnsMax, PendingMax int
	// StatusInterval is how often a changed status is sent on liveness connections.
	StatusInterval time.Duration
}

// DefaultConfig returns the defaults; names, addresses and logger are the caller's.
func DefaultConfig() Config {
	return Config{
		Listen:           "127.0.0.1:8034",
		HandshakeTimeout: 5 * time.Second,
		FrameMax:         4 << 20,
		InFlightMax:      1024,
		ConnsMax:         1024,
		PendingMax:       128,
		StatusInterval:   50 * time.Millisecond,
	}
}

// Validate reports every fault of the configuration at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.ClusterName == "" || len(c.ClusterName) > nameMax {
		bad("cluster name must have 1 to %d bytes", nameMax)
	}
	if c.ID == "" || len(c.ID) > nameMax {
		bad("replica id must have 1 to %d bytes", nameMax)
	}
	if c.Logger == nil {
		bad("logger is missing")
	}
	if c.HandshakeTimeout <= 0 || c.FrameMax < 1<<10 || c.InFlightMax < 1 || c.ConnsMax < 1 || c.PendingMax < 1 || c.StatusInterval <= 0 {
		bad("limits must be positive (start from DefaultConfig)")
	}
	for _, a := range []string{c.Listen, c.Advertise} {
		if a == "" && a == c.Advertise {
			continue
		}
		host, _, err := net.SplitHostPort(a)
		switch {
		case err != nil:
			bad("address %q: %w", a, err)
		case c.TLS == nil && !loopback(host):
			bad("address %q is not loopback: replicas need tls there", a)
		}
	}
	return errors.Join(errs...)
}

// loopback says whether host can only be reached from this machine.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
