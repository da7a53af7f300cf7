package peer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Config is the configuration of a Server.
type Config struct {
	// ClusterName must be equal on all replicas.
	ClusterName string
	// ID is the configured id of this replica.
	ID string
	// Listen is the address of the listener, host:port.
	Listen string
	// Advertise is the address that other replicas dial. If it is empty, it is the listener's
	// address.
	Advertise string
	// TLS has this replica's certificate, RootCAs and ClientCAs. It may be nil only if all
	// addresses are on loopback.
	TLS *tls.Config
	// FreshTLS returns the configuration that replaces TLS for each new connection, so that
	// certificates can be renewed. It may be nil. It has an effect only together with TLS.
	FreshTLS func() *tls.Config
	// Logger is required.
	Logger hclog.Logger
	// HandshakeTimeout limits the TLS handshake and the hellos together.
	HandshakeTimeout time.Duration
	// FrameMax limits the payload of one rpc frame, in bytes.
	FrameMax int
	// InFlightMax limits the calls in flight on one connection, on either side.
	InFlightMax int
	// ConnsMax limits the connections with replicas. PendingMax limits the accepted connections
	// that have not sent a hello, and StrangersMax those of replicas that are not members. A further
	// one of these two closes the oldest of the address that has the most.
	ConnsMax, PendingMax, StrangersMax int
	// StatusInterval is the interval at which a changed status is sent on liveness connections.
	StatusInterval time.Duration
}

// DefaultConfig returns the defaults. The caller must set ClusterName, ID and Logger.
func DefaultConfig() Config {
	return Config{
		Listen:           "127.0.0.1:8034",
		HandshakeTimeout: 5 * time.Second,
		FrameMax:         4 << 20,
		InFlightMax:      1024,
		ConnsMax:         1024,
		PendingMax:       128,
		StrangersMax:     64,
		StatusInterval:   50 * time.Millisecond,
	}
}

// Validate returns all errors of the configuration, joined.
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
	if c.HandshakeTimeout <= 0 || c.FrameMax < 1<<10 || c.InFlightMax < 1 || c.ConnsMax < 1 || c.PendingMax < 1 ||
		c.StrangersMax < 1 || c.StatusInterval <= 0 {
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

// loopback reports whether host can only be reached from this machine.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
