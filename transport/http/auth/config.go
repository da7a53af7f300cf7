package auth

import (
	"errors"
	"time"
)

// Modes of http.auth.
const (
	// Optional lets everybody read; writes need a role. Until there is an access
	// token in the cluster, programs on this machine need none.
	Optional = "optional"
	// Required lets nobody do anything without a role, but ask whether the
	// replica is well.
	Required = "required"
	// Off ignores tokens and certificates: programs on this machine may do everything. An
	// administrator who has lost every admin token gets back in by it.
	Off = "off"
)

// Config is how callers are identified and limited.
type Config struct {
	Mode string
	// Cluster is the name that role certificates carry; without it certificates
	// give no role.
	Cluster string
	// Member says whether a replica belongs to the cluster: the certificate of
	// one that was removed gives no role. Nil: all do.
	Member func(id string) bool
	// Revoked says whether the certificate with a serial number, in hexadecimal,
	// is revoked. Nil: none is.
	Revoked func(serial string) bool
	// Rate and Burst bound the requests a second of one principal, or of one
	// address without one. Programs on this machine without a role are not
	// bounded, nor is POST /v1/inputs.
	Rate, Burst int
	// OwnToken is an administrator's token that this process alone knows, for a
	// workload inside it: it is in no state, and ends with the process. Empty: none.
	OwnToken string
	// SessionLife is how long a browser stays logged in.
	SessionLife time.Duration
}

// DefaultConfig returns the defaults that docs/operations/settings.md lists.
func DefaultConfig() Config {
	return Config{Mode: Optional, Rate: 200, Burst: 400, SessionLife: 12 * time.Hour}
}

// Validate says everything that is wrong.
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
