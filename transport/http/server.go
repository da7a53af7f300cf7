package httpserver

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/http/summary"
	"rmd/transport/http/v1/api"
)

// Server is the HTTP front door of one replica.
type Server struct {
	cfg     Config
	log     hclog.Logger
	metrics *Metrics
	routes  []route
	origin  *http.CrossOriginProtection
	hosts   map[string]bool

	confs     confCache
	census    summary.Keeper
	past      summary.Keeper // of earlier states
	recent    recent
	explain   sync.Mutex    // one explanation at a time: it plans on a fork
	forking   sync.Mutex    // of a shared state
	whatIf    chan struct{} // taken by the one what-if in work
	leaders   leaderClock
	timings   *timings
	inputs    chan struct{} // a slot for each input in flight
	streams   atomic.Int64
	rates     *rates
	lookups   *bucket // of tokens that this replica does not know
	refusals  *refusals
	sessions  sessions
	keyPrefix string
	keySeq    atomic.Uint64

	ctx     context.Context // ends with Close: event streams and the metrics watch
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	servers []*http.Server
	closed  bool
}

// New makes a server and starts its watch of applied events for the metrics.
// Close ends it.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Admit == nil {
		cfg.Admit = AdmitPrivate
	}
	if cfg.Who == nil {
		cfg.Who = func(r *http.Request) string { return r.Header.Get(api.HeaderUser) }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(cfg.Version)
	}
	s := &Server{cfg: cfg, log: cfg.Logger.Named("rest"), metrics: cfg.Metrics, hosts: map[string]bool{},
		origin: http.NewCrossOriginProtection(), inputs: make(chan struct{}, cfg.InputsInFlight), whatIf: make(chan struct{}, 1),
		rates: newRates(cfg.Auth.Rate, cfg.Auth.Burst), lookups: newBucket(10, 20), refusals: newRefusals()}
	s.leaders.now, s.timings = cfg.Now, newTimings(cfg.Metrics)
	for _, h := range cfg.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("rest: draw a key prefix: %w", err)
	}
	s.keyPrefix = "rest-" + hex.EncodeToString(b[:])
	s.routes = s.table()
	s.metrics.attach(s)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.cfg.Web == nil && !s.cfg.NoPages {
		web, err := newPages(s)
		if err != nil {
			s.cancel()
			return nil, err
		}
		s.cfg.Web = web
	}
	s.wg.Go(s.watchMetrics)
	s.wg.Go(s.watchLeader)
	s.wg.Go(s.keepWarm)
	return s, nil
}

// ownKey makes an idempotency key for a call that came without one and is not
// harmless to repeat.
func (s *Server) ownKey() string {
	return s.keyPrefix + "/" + strconv.FormatUint(s.keySeq.Add(1), 10)
}

// Handler is the whole door, for a server of the caller's own.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Serve answers on a listener until Close; it bounds connections and times.
func (s *Server) Serve(l net.Listener) error {
	return s.serveOn(limitConnections(l, s.cfg.MaxConnections, s.cfg.MaxPerAddress))
}

// ServeTLS is Serve with HTTPS on a plain listener. TLS goes round what bounds
// connections: net/http looks for it on the outside.
func (s *Server) ServeTLS(l net.Listener, conf *tls.Config) error {
	return s.serveOn(tls.NewListener(limitConnections(l, s.cfg.MaxConnections, s.cfg.MaxPerAddress), conf))
}

func (s *Server) serveOn(l net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: s.cfg.HeaderTimeout, IdleTimeout: s.cfg.IdleTimeout, MaxHeaderBytes: s.cfg.MaxHeaderBytes,
		ErrorLog: s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return http.ErrServerClosed
	}
	s.servers = append(s.servers, srv)
	s.mu.Unlock()
	return srv.Serve(l)
}

// Close stops taking requests, ends event streams, and waits for the requests
// in work, at most CloseTimeout.
func (s *Server) Close() error {
	s.mu.Lock()
	servers := s.servers
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.CloseTimeout)
	defer cancel()
	var errs []error
	for _, srv := range servers {
		err := srv.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) { // a client that says or reads nothing must not hold up the end
			s.log.Info("requests in work are cut off", "after", s.cfg.CloseTimeout)
			err = srv.Close()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("close http server: %w", err))
		}
	}
	s.wg.Wait()
	s.census.Close()
	s.past.Close()
	s.recent.close()
	return errors.Join(errs...)
}

// serve is the way of every request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := &recorder{ResponseWriter: w}
	secureHeaders(rec.Header())
	label := "none"
	r = withFork(r)
	c := &call{s: s, w: rec, r: r}
	err := s.checkHost(r)
	if err == nil && r.Header.Get(passedOn) != "" && !strings.HasPrefix(r.URL.Path, "/proxy/") {
		err = problem(api.CodeNotAllowed, "the page of an ApplicationMaster may not be this server", "open it by its own address")
	}
	var identity error // what is wrong with who the caller says it is
	if err == nil {
		r, identity = s.identified(r)
		c.r = r
	}
	if err == nil && s.cfg.Web != nil && webPath(r.URL.Path) {
		if err = s.origin.Check(r); err == nil {
			s.servePages(rec, r, identity)
			s.metrics.http("web", rec.status(), time.Since(start))
			return
		}
		err = otherSite()
	}
	if err == nil {
		err = identity
	}
	if err == nil && s.hadoopPath(r) {
		if err = s.origin.Check(r); err != nil {
			err = otherSite()
		} else if err = s.admitHadoop(r); err == nil {
			s.cfg.Hadoop.ServeHTTP(rec, r)
			s.metrics.http("hadoop", rec.status(), time.Since(start))
			return
		}
	}
	if err == nil {
		c.route, c.args, err = s.find(r)
	}
	if err == nil {
		label = c.route.pattern
		err = s.dispatch(c)
	}
	if err != nil {
		s.fail(c, err)
	}
	s.metrics.http(label, rec.status(), time.Since(start))
}

// webPath says whether the operator's pages answer for a path: their own, and
// the bookmarks of YARN's.
func webPath(path string) bool {
	return path == "/ui" || strings.HasPrefix(path, "/ui/") || path == "/cluster" || strings.HasPrefix(path, "/cluster/")
}

// passedOn is what the proxy to ApplicationMasters writes on requests: one that
// comes back here would have this machine's rights.
const passedOn = "Rmd-Proxied"

// hadoopPath says whether a request is for Config.Hadoop.
func (s *Server) hadoopPath(r *http.Request) bool {
	if s.cfg.Hadoop == nil {
		return false
	}
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	ours := strings.HasPrefix(r.URL.Path, wsRoot+schedConf) && r.Method != http.MethodOptions
	return strings.HasPrefix(r.URL.Path, "/proxy/") || !read && strings.HasPrefix(r.URL.Path, wsRoot) && !ours
}

func otherSite() error {
	return problem(api.CodeNotAllowed, "another site's page may not change anything here", "call from a program, or from this server's own pages")
}

// dispatch admits a call and hands it to its route.
func (s *Server) dispatch(c *call) error {
	var err error
	if c.q, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return invalid("the query is not well-formed: "+err.Error(), "escape it as RFC 3986 says")
	}
	if c.route.class != ClassRead {
		if err := s.origin.Check(c.r); err != nil {
			return otherSite()
		}
	}
	err = s.admit(c.r, c.route)
	if err == nil {
		err = c.ownApp()
	}
	if err == nil {
		err = c.route.checkQuery(c.q)
	}
	if err == nil {
		err = c.route.handle(c)
	}
	c.auditRefused(err)
	return err
}

// fail answers with an error, in the shape of the API that was asked.
func (s *Server) fail(c *call, err error) {
	var remote *remoteError
	if errors.As(err, &remote) {
		c.roleHeaders()
		writeRemoteException(c, remote)
		return
	}
	e := s.errorOf(err, c.r.Method != http.MethodGet && c.r.Method != http.MethodHead)
	h := c.w.Header()
	for _, name := range []string{"Content-Length", "ETag"} {
		h.Del(name)
	}
	c.roleHeaders()
	switch {
	case e.Code == api.CodeMethodNotAllowed:
		h.Set("Allow", strings.Join(e.Details, ", "))
	case e.Status == http.StatusUnauthorized && !strings.HasPrefix(c.r.URL.Path, wsRoot):
		h.Set("WWW-Authenticate", `Bearer realm="rmd"`)
	case e.RetryAfterMillis > 0:
		h.Set("Retry-After", strconv.FormatInt((e.RetryAfterMillis+999)/1000, 10))
	case e.Status == http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	if strings.HasPrefix(c.r.URL.Path, wsRoot) {
		writeRemoteException(c, remoteErrorOf(e))
		return
	}
	b, jerr := json.Marshal(e)
	if jerr != nil {
		http.Error(c.w, e.Code, e.Status)
		return
	}
	h.Set("Content-Type", "application/json")
	c.w.WriteHeader(e.Status)
	_, _ = c.w.Write(append(b, '\n'))
}

// secureHeaders are on every answer.
func secureHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}

// recorder notes the status of an answer, and gives every part of it a deadline
// of its own: an answer may be long, a client that does not take it may not hold
// a connection for ever. A server's WriteTimeout would bound the whole.
type recorder struct {
	http.ResponseWriter
	code     int
	extended time.Time
}

// chunkTimeout is how long a client may take for one part of an answer, or to
// send one part of a long body.
const chunkTimeout = 30 * time.Second

func (r *recorder) extend() {
	now := time.Now()
	if now.Sub(r.extended) < time.Second {
		return
	}
	r.extended = now
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(now.Add(chunkTimeout)) // a recorder in tests has none
}

// WriteHeader notes and passes on.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.extend()
	r.ResponseWriter.WriteHeader(code)
}

// Write passes on.
func (r *recorder) Write(p []byte) (int, error) {
	r.extend()
	return r.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}
