package auth

import (
	"errors"
	"time"
)

// Modes of http.auth.
const (
	// Optional lets everybody read. Writes need a role, except by programs on this machine as long
	// as the cluster has no access token.
	Optional = "optional"
	// Required demands a role for everything except health checks.
	Required = "required"
	// Off ignores tokens and certificates: programs on this machine may do everything. An
	// administrator who has lost every admin token can regain access with it.
	Off = "off"
)

// Config says how callers are identified and limited.
type Config struct {
	Mode string
	// Cluster is the cluster's name in certificates. If it is empty, certificates give no role.
	Cluster string
	// Member reports whether a replica belongs to the cluster. The certificate of a removed replica
	// gives no role. If Member is nil, all replicas belong to it.
	Member func(id string) bool
	// Revoked reports whether the certificate with a serial number, in hexadecimal, is revoked. If
	// it is nil, none is.
	Revoked func(serial string) bool
	// Rate and Burst limit the requests per second of a principal, or of an address without one.
	// Programs on this machine without a role have no limit, nor have principals at POST /v1/inputs.
	Rate, Burst int
	// OwnToken is a token with the role admin for a workload in this process. The state does not
	// contain it, and it ends with the process. If it is empty, there is none.
	OwnToken string
	// SessionLife is the time for which a browser stays logged in.
	SessionLife time.Duration
}

// DefaultConfig returns the defaults that docs/operations/settings.md lists.
func DefaultConfig() Config {
	return Config{Mode: Optional, Rate: 200, Burst: 400, SessionLife: 12 * time.Hour}
}

// Validate returns all errors of the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Mode != Optional && c.Mode != Required && c.Mode != Off {
		errs = append(errs, errors.New("http: Auth.Mode is optional, required or off"))
	}
	if c.Rate < 1 || c.Burst < 1 || c.SessionLife <= 0 {
		errs = append(errs, errors.New("http: Auth.Rate, Burst and SessionLife must be above 0"))
	}
	return errors.Join(errs...)
}
