// Package route takes a request to its handler. It has the table of routes with the role that each
// needs, the call with its parameters and body, inputs with idempotency keys, and the audit of
// administrators' calls. The packages v1, yarn and metrics add their routes to one Mux, which the
// pages call too.
package route

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/internal/job"
	"rmd/scheduler/input"
	"rmd/transport/frontend"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
)

// Submitter submits inputs to the leader, from any replica.
type Submitter = frontend.Submitter

// Consensus gives access to this replica's role and to the leader's commit index.
type Consensus interface {
	// Role returns leader, follower or candidate.
	Role() string
	// Staleness returns the time since this replica last heard from the leader: 0 on the leader,
	// negative if it never has.
	Staleness() time.Duration
	// ReadIndex returns the commit index of the leader, after the leader has verified that it
	// leads.
	ReadIndex(ctx context.Context) (uint64, error)
}

// Config configures a Mux.
type Config struct {
	Logger    hclog.Logger
	Views     *view.Source
	Reader    view.Reader
	Submitter Submitter
	Consensus Consensus
	Guard     *auth.Guard
	Problems  *problem.Translator
	// Count counts an input; result is ok, refused or error.
	Count func(in input.Input, result string)
	// Audit has the outcome of each attempt to record an operation.
	Audit *job.Job

	BodyTimeout  time.Duration // to receive a body
	ReadTimeout  time.Duration // to answer a read
	WriteTimeout time.Duration // to answer a write
	MaxBodyBytes int64
}

// Mux has the routes of all APIs. Add all routes before it serves requests.
type Mux struct {
	cfg      Config
	log      hclog.Logger
	routes   []Route
	origin   *http.CrossOriginProtection
	refusals *refusals

	// Idempotency keys for calls that have none and are not harmless to repeat.
	keyPrefix string
	keySeq    atomic.Uint64

	mu     sync.Mutex
	closed bool
	audits sync.WaitGroup // audit records that are written after the answers
}

// New returns a mux without routes.
func New(cfg Config) (*Mux, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("http: draw a key prefix: %w", err)
	}
	return &Mux{cfg: cfg, log: cfg.Logger, origin: http.NewCrossOriginProtection(), refusals: newRefusals(),
		keyPrefix: "rest-" + hex.EncodeToString(b[:])}, nil
}

// Add adds routes. If several match a request, the first is used.
func (m *Mux) Add(routes ...Route) {
	for _, t := range routes {
		t.setAccess()
		t.segs = strings.Split(strings.Trim(t.Pattern, "/"), "/")
		m.routes = append(m.routes, t)
	}
}

// Routes returns all routes in the order in which they were added.
func (m *Mux) Routes() []Route { return m.routes }

// Close stops the recording of refusals. Wait then waits for the records that are being written.
func (m *Mux) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

// Wait waits for the audit records that are being written.
func (m *Mux) Wait() { m.audits.Wait() }

// ownKey returns an idempotency key for a call that has none.
func (m *Mux) ownKey() string {
	return m.keyPrefix + "/" + strconv.FormatUint(m.keySeq.Add(1), 10)
}

// SameSite refuses a request with which a page of another site would change something.
func (m *Mux) SameSite(r *http.Request) error {
	if err := m.origin.Check(r); err != nil {
		return auth.OtherSite()
	}
	return nil
}

// Serve finds the route of a call and runs it.
func (m *Mux) Serve(c *Call) (err error) {
	if c.Route, c.Args, err = m.find(c.R); err != nil {
		return err
	}
	return m.dispatch(c)
}

// dispatch checks a call and runs its handler.
func (m *Mux) dispatch(c *Call) error {
	var err error
	if c.Query, err = url.ParseQuery(c.R.URL.RawQuery); err != nil {
		return problem.Invalid("the query is not well-formed: "+err.Error(), "escape it as RFC 3986 says")
	}
	if c.Route.Class != auth.ClassRead {
		if err := m.SameSite(c.R); err != nil {
			return err
		}
	}
	err = m.cfg.Guard.Admit(c.R, c.Route.Access())
	if err == nil {
		err = c.ownApp()
	}
	if err == nil {
		err = c.Route.checkQuery(c.Query)
	}
	if err == nil {
		err = c.Route.Handle(c)
	}
	c.auditRefused(err)
	return err
}

// Refuse returns the answer to an error, and sets its headers.
func (m *Mux) Refuse(c *Call, err error) *api.Error {
	e := m.cfg.Problems.Of(err, c.R.Method != http.MethodGet && c.R.Method != http.MethodHead)
	h := c.W.Header()
	for _, name := range []string{"Content-Length", "ETag"} {
		h.Del(name)
	}
	c.RoleHeaders()
	switch {
	case e.Code == api.CodeMethodNotAllowed:
		h.Set("Allow", strings.Join(e.Details, ", "))
	case e.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="rmd"`)
	case e.RetryAfterMillis > 0:
		h.Set("Retry-After", strconv.FormatInt((e.RetryAfterMillis+999)/1000, 10))
	case e.Status == http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	return e
}

// Fail answers a call with an error document.
func (m *Mux) Fail(c *Call, err error) {
	e := m.Refuse(c, err)
	b, jerr := json.Marshal(e)
	if jerr != nil {
		http.Error(c.W, e.Code, e.Status)
		return
	}
	c.W.Header().Set("Content-Type", "application/json")
	c.W.WriteHeader(e.Status)
	_, _ = c.W.Write(append(b, '\n'))
}

// Call makes a call in the name of r, with the same routes, admission, limits and audit as a call
// from outside. It decodes the answer into out, which may be nil.
func (m *Mux) Call(r *http.Request, method, path string, header map[string]string, body, out any) error {
	u, err := url.Parse(path)
	if err != nil {
		return fmt.Errorf("call %s: %w", path, err)
	}
	var b []byte
	if body != nil {
		if b, err = json.Marshal(body); err != nil {
			return fmt.Errorf("call %s: %w", path, err)
		}
	}
	req := r.Clone(r.Context())
	req.Method, req.URL, req.RequestURI, req.ContentLength = method, u, "", int64(len(b))
	req.Body, req.Form, req.PostForm, req.MultipartForm = io.NopCloser(bytes.NewReader(b)), nil, nil, nil
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	w := &answer{header: http.Header{}}
	if err := m.Serve(m.NewCall(w, req)); err != nil {
		return err
	}
	if out == nil || w.body.Len() == 0 {
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("answer of %s: %w", path, err)
	}
	return nil
}

// answer records the answer to a call.
type answer struct {
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(int)             {}
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
