package submit

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Errors of Do.
var (
	// ErrClosed says that the client is closed.
	ErrClosed = errors.New("client is closed")
	// ErrRejected says that a replica will not take the input however often it is repeated.
	ErrRejected = errors.New("input rejected")
)

// Config says where the replicas are and how much may be under way.
type Config struct {
	Addrs       []string      // host:port or URL of any replicas' REST addresses
	Connections int           // lanes: bodies in flight at one time
	MaxInputs   int           // in one body
	MaxBytes    int           // of one body; a larger single input goes alone
	Queue       int           // callers that may wait before Do blocks earlier
	Timeout     time.Duration // of one body; above the time that a replica holds calls while there is no leader
	Pause       time.Duration // before an address is tried again after all of them failed; doubles up to a second
	Token       string        // access token of role admin, where the cluster asks for one
	TLS         *tls.Config   // for https addresses; nil is the system's
	Logger      hclog.Logger
}

// DefaultConfig is what New uses.
func DefaultConfig() Config {
	return Config{Connections: 4, MaxInputs: 512, MaxBytes: 1 << 20, Queue: 1024,
		Timeout: 10 * time.Second, Pause: 50 * time.Millisecond}
}

// Validate tells which field is out of its bounds.
func (c Config) Validate() error {
	switch {
	case len(c.Addrs) == 0:
		return errors.New("submit: no address; name at least one replica, as in 127.0.0.1:8088")
	case c.Connections < 1 || c.Connections > 256:
		return fmt.Errorf("submit: %d connections; expected 1 to 256", c.Connections)
	case c.MaxInputs < 1 || c.MaxInputs > 65536:
		return fmt.Errorf("submit: %d inputs in a body; expected 1 to 65536", c.MaxInputs)
	case c.MaxBytes < 1024 || c.MaxBytes > 64<<20:
		return fmt.Errorf("submit: bodies of %d bytes; expected 1024 to 64 MiB", c.MaxBytes)
	case c.Queue < 0 || c.Queue > 1<<20:
		return fmt.Errorf("submit: queue of %d; expected 0 to 1048576", c.Queue)
	case c.Timeout <= 0 || c.Pause <= 0:
		return fmt.Errorf("submit: timeout %s, pause %s; expected more than 0", c.Timeout, c.Pause)
	}
	for _, a := range c.Addrs {
		if _, err := inputsURL(a); err != nil {
			return err
		}
	}
	return nil
}

// inputsURL is where inputs go on the replica at addr.
func inputsURL(addr string) (string, error) {
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("submit: %q is not an address; expected host:port or a http(s) URL", addr)
	}
	return u.Scheme + "://" + u.Host + "/v1/inputs", nil
}
