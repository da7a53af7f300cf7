package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rmd/api"
)

// Config configures a Client.
type Config struct {
	Addrs             []string      // host:port or URL of one or more replicas
	CACert, Cert, Key string        // PEM files; if any is set, the client uses https
	Timeout           time.Duration // of one request, including all tries
	Stale             bool          // reads return the state of the replica that answers, without asking the leader
	User              string        // X-Rmd-User
	Token             string        // access token
	Name              string        // CLIENT in the idempotency keys; random if empty
	Version           string        // of this program, for the User-Agent
	// Read is called with each answer to a read of the replicated state, if Stale is set. It may be nil.
	Read func(*Answer)
	// Waits is called from another goroutine, at most once in a request, if the request has waited for
	// a second and no replica is in step. It may be nil.
	Waits func([]Standing)
}

// DefaultConfig returns a configuration for a replica on this machine.
func DefaultConfig() Config {
	return Config{Addrs: []string{"127.0.0.1:8088"}, Timeout: 30 * time.Second}
}

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	var errs []error
	if len(c.Addrs) == 0 {
		errs = append(errs, usagef("write --addr HOST:PORT,…", "no replica address is set"))
	}
	for _, a := range c.Addrs {
		if _, err := base(a, false); err != nil {
			errs = append(errs, err)
		}
	}
	if c.Timeout <= 0 {
		errs = append(errs, usagef("write --timeout 30s", "the timeout %s is not positive", c.Timeout))
	}
	if (c.Cert == "") != (c.Key == "") {
		errs = append(errs, usagef("set both --cert and --key", "a certificate needs its key, and a key its certificate"))
	}
	return errors.Join(errs...)
}

// Client calls a cluster. It is safe for concurrent use.
type Client struct {
	cfg    Config
	bases  []string
	bearer string // the value of the Authorization header
	http   *http.Client
	seq    atomic.Uint64

	mu    sync.Mutex // also held during a survey, so that concurrent requests share it
	order []Standing // the replicas, best first; nil: they must be surveyed
	left  string     // the replica whose stream has just ended
}

// New returns a client. It does not connect.
func New(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Name == "" {
		var b [8]byte
		_, _ = rand.Read(b[:]) // crypto/rand never fails
		cfg.Name = "cli-" + hex.EncodeToString(b[:])
	}
	conf, err := tlsConfig(cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg}
	if cfg.Token != "" {
		c.bearer = "Bearer " + cfg.Token
	}
	for _, a := range cfg.Addrs {
		b, _ := base(a, conf != nil) // Validate has checked it
		c.bases = append(c.bases, b)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig, t.Proxy, t.MaxIdleConnsPerHost = conf, nil, 16
	t.DialContext = (&net.Dialer{Timeout: dialMax, KeepAlive: 15 * time.Second}).DialContext
	c.http = &http.Client{Transport: t, CheckRedirect: limitRedirects}
	return c, nil
}

// Close closes the connections that no request uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// limitRedirects permits up to four redirects, since a replica may redirect a client to the leader.
// With the status 307 or 308, method, body and headers stay the same.
func limitRedirects(_ *http.Request, via []*http.Request) error {
	if len(via) > 4 {
		return errors.New("more than 4 redirects")
	}
	return nil
}

// base returns the URL of an address, without a path.
func base(addr string, secure bool) (string, error) {
	text := addr
	if !strings.Contains(addr, "://") {
		scheme := "http://"
		if secure {
			scheme = "https://"
		}
		text = scheme + addr
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") || (u.Path != "" && u.Path != "/") {
		return "", usagef("write HOST:PORT, or a URL such as https://rm1:8090", "%q is not the address of a replica", addr)
	}
	if u.Port() == "" {
		u.Host += map[string]string{"http": ":8088", "https": ":8090"}[u.Scheme]
	} else if p, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || p == 0 {
		return "", usagef("write HOST:PORT", "the port of %q is not from 1 to 65535", addr)
	}
	return u.Scheme + "://" + u.Host, nil
}

func tlsConfig(cfg Config) (*tls.Config, error) {
	if cfg.CACert == "" && cfg.Cert == "" {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CACert != "" {
		pem, err := os.ReadFile(cfg.CACert)
		if err != nil {
			return nil, fmt.Errorf("read --cacert or $RMD_CACERT: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, newError(CodeFile, "name the certificate of the CA in PEM format",
				"%s contains no certificate", cfg.CACert)
		}
	}
	if cfg.Cert != "" {
		pair, err := tls.LoadX509KeyPair(cfg.Cert, cfg.Key)
		var missing *fs.PathError
		if err != nil && !errors.As(err, &missing) {
			return nil, newError(CodeFile, "name a certificate and the key that belongs to it, both in PEM format",
				"%s and %s cannot be used for --cert and --key or $RMD_CERT and $RMD_KEY: %v", cfg.Cert, cfg.Key, err)
		}
		if err != nil {
			return nil, fmt.Errorf("read --cert and --key or $RMD_CERT and $RMD_KEY: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// Addrs returns the URLs of the replicas.
func (c *Client) Addrs() []string { return c.bases }

// TLS returns the configuration of connections to the replicas, or nil for the system's.
func (c *Client) TLS() *tls.Config {
	return c.http.Transport.(*http.Transport).TLSClientConfig.Clone()
}

// Get reads a document.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (*Answer, error) {
	return c.Do(ctx, Request{Method: http.MethodGet, Path: path, Query: query})
}

// Post sends a POST request. body may be nil.
func (c *Client) Post(ctx context.Context, path string, body any) (*Answer, error) {
	return c.send(ctx, http.MethodPost, path, nil, body)
}

// Put sends a PUT request. body may be nil.
func (c *Client) Put(ctx context.Context, path string, query url.Values, body any) (*Answer, error) {
	return c.send(ctx, http.MethodPut, path, query, body)
}

// Delete sends a DELETE request.
func (c *Client) Delete(ctx context.Context, path string, query url.Values) (*Answer, error) {
	return c.send(ctx, http.MethodDelete, path, query, nil)
}

func (c *Client) send(ctx context.Context, method, path string, query url.Values, body any) (*Answer, error) {
	r := Request{Method: method, Path: path, Query: query}
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r.Body, r.ContentType = b, "application/json"
	}
	return c.Do(ctx, r)
}

// Request is one request to the cluster.
type Request struct {
	Method      string
	Path        string
	Query       url.Values
	Body        []byte
	Stream      func() (io.ReadCloser, error) // instead of Body, for large bodies
	ContentType string
	Header      http.Header
	// Silence makes the answer a stream, and says how long it may send nothing: then a Read fails.
	// Timeout limits only the search for a replica that answers.
	Silence time.Duration
	Plain   bool // without ?consistent: not a read of the replicated state
	// Made is the code of the refusal that means that the change was already made. If an earlier
	// answer was lost, Do treats this refusal as success.
	Made string
}

// Answer is a successful answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte        // nil for a stream
	Stream io.ReadCloser // set only if the request has a Silence
	From   string        // URL of the replica
}

// Decode decodes the body into v.
func (a *Answer) Decode(v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		return newError(CodeFailed, "check that it is an rmd of this version",
			"cannot decode the answer of %s: %v", a.From, err)
	}
	return nil
}

// Index returns the log index at which the answer was read or with which it was written, or 0.
func (a *Answer) Index() uint64 {
	n, _ := strconv.ParseUint(a.Header.Get(api.HeaderIndex), 10, 64)
	return n
}

// Age says how old the state of a read is that did not ask the leader.
func (a *Answer) Age() string {
	text := fmt.Sprintf("%s shows its own state, of log entry %d", a.From, a.Index())
	switch ms, err := strconv.ParseInt(a.Header.Get(api.HeaderStaleness), 10, 64); {
	case err != nil:
		return text + "; it has not heard from a leader since its start"
	case ms > 0:
		return text + "; it heard from the leader " + (time.Duration(ms) * time.Millisecond).String() + " ago"
	}
	return text + "; it leads"
}

// body returns the request's body, again for each try.
func (r Request) body() (io.ReadCloser, error) {
	switch {
	case r.Stream != nil:
		return r.Stream()
	case r.Body != nil:
		return io.NopCloser(bytes.NewReader(r.Body)), nil
	}
	return nil, nil
}

// Plain reads a document about the replica that answers, without ?consistent.
func (c *Client) Plain(ctx context.Context, path string) (*Answer, error) {
	return c.Do(ctx, Request{Method: http.MethodGet, Path: path, Plain: true})
}
