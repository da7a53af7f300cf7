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
	// ErrClosed means that the client is closed.
	ErrClosed = errors.New("client is closed")
	// ErrRejected means that replicas will not accept the input, even if it is repeated.
	ErrRejected = errors.New("input rejected")
)

// Config has the addresses of the replicas and the limits of a client.
type Config struct {
	Addrs       []string      // host:port or URL of the REST addresses of any replicas
	Connections int           // number of senders, which is the maximum of bodies in flight
	MaxInputs   int           // maximum per body
	MaxBytes    int           // maximum per body; a larger input is sent alone
	Queue       int           // number of waiting calls; further calls of Do block
	Timeout     time.Duration // of one body; longer than a replica holds calls without a leader
	Pause       time.Duration // after all addresses have failed; doubles up to one second
	Token       string        // access token with role admin, if the cluster requires one
	TLS         *tls.Config   // for https addresses; nil: the system's
	Logger      hclog.Logger
}

// DefaultConfig returns the configuration that New uses.
func DefaultConfig() Config {
	return Config{Connections: 4, MaxInputs: 512, MaxBytes: 1 << 20, Queue: 1024,
		Timeout: 10 * time.Second, Pause: 50 * time.Millisecond}
}

// Validate returns an error if a field is out of bounds.
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

// inputsURL returns the URL for inputs of the replica at addr.
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
