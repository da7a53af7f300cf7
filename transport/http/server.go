package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/internal/job"
	"rmd/transport/http/auth"
	"rmd/transport/http/metrics"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/sampler"
	"rmd/transport/http/ui/login"
	v1 "rmd/transport/http/v1"
	"rmd/transport/http/view"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

// Server is the HTTP server of one replica.
type Server struct {
	cfg      Config
	log      hclog.Logger
	views    *view.Source
	guard    *auth.Guard
	problems *problem.Translator
	mux      *route.Mux
	api      *v1.API
	sampler  *sampler.Sampler
	metrics  *metrics.Metrics
	timings  *metrics.Timings
	pages    http.Handler // nil if there are none
	login    *login.Handler
	bodies   *bodies

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	servers []*http.Server
	closed  bool
}

// New makes a server and starts the goroutines that follow the state. Close stops them.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metrics.New(cfg.Version)
	}
	if cfg.Samples == nil {
		cfg.Samples = sampler.New(cfg.PrefetchPause)
	}
	s := &Server{cfg: cfg, log: cfg.Logger.Named("rest"), metrics: cfg.Metrics, timings: metrics.NewTimings(cfg.Metrics),
		views:   view.NewSource(cfg.Reader, cfg.Now),
		sampler: cfg.Samples, bodies: newBodies(cfg.MaxBodiesBytes, cfg.MaxBodyBytes)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.problems = &problem.Translator{RefusalOf: cfg.RefusalOf, Initialized: s.initialized, NoState: cfg.Consensus.NoState, Missing: cfg.Consensus.Missing,
		Logger: s.log}
	s.guard = auth.New(cfg.Auth, auth.Parts{ID: cfg.ID, Views: s.views, Consensus: cfg.Consensus,
		WaitApplied: cfg.Reader.WaitApplied,
		Admit:       cfg.Admit, Who: cfg.Who, Hosts: cfg.Hosts, Now: cfg.Now, Kerberos: cfg.Kerberos,
		Proof: cfg.Hadoop.Proof})
	if err := s.openRooms(); err != nil {
		s.cancel()
		return nil, err
	}
	s.metrics.Show(&metrics.Source{ID: cfg.ID, Views: s.views, Consensus: cfg.Consensus, Logger: s.log, Context: s.ctx})
	counting := cfg.Jobs.Job(job.EventCounts)
	s.wg.Go(func() { s.metrics.Watch(s.ctx, cfg.Reader, s.log, counting) })
	s.wg.Go(func() { s.every(time.Second, s.timings.Look) })
	s.wg.Go(func() { s.every(cfg.PrefetchPause, s.prefetch) })
	return s, nil
}

// openRooms makes the APIs and the pages and adds their routes to one mux.
func (s *Server) openRooms() error {
	var err error
	cfg := &s.cfg
	s.mux, err = route.New(route.Config{Logger: s.log, Views: s.views, Reader: cfg.Reader, Submitter: cfg.Submitter,
		Consensus: cfg.Consensus, Guard: s.guard,
		Problems: s.problems, Count: s.metrics.CountInput, Audit: cfg.Jobs.Job(job.Audit), BodyTimeout: cfg.BodyTimeout,
		ReadTimeout: cfg.ReadTimeout, WriteTimeout: cfg.WriteTimeout, MaxBodyBytes: cfg.MaxBodyBytes})
	if err != nil {
		return err
	}
	s.api = v1.New(v1.Config{ID: cfg.ID, Cluster: cfg.Auth.Cluster, Version: cfg.Version, Logger: s.log, Views: s.views,
		Reader: cfg.Reader, Submitter: cfg.Submitter, Consensus: cfg.Consensus, History: s.sampler, Groups: cfg.Hadoop.Groups,
		ShortName: cfg.Hadoop.ShortName,
		Snapshots: cfg.Snapshots, Log: cfg.Log, Guard: s.guard, Problems: s.problems, Planner: cfg.Planner,
		Shadows: cfg.Shadows, Count: s.metrics.CountInput, Now: cfg.Now, Closing: s.ctx,
		BodyTimeout: cfg.BodyTimeout, ReadTimeout: cfg.ReadTimeout, WriteTimeout: cfg.WriteTimeout, Heartbeat: cfg.Heartbeat,
		MaxInputsBytes: cfg.MaxInputsBytes,
		MaxInputs:      cfg.MaxInputs, InputsInFlight: cfg.InputsInFlight, MaxStreams: cfg.MaxStreams,
		MaxLogEntries:    cfg.MaxLogEntries,
		LongestJoinToken: cfg.LongestJoinToken, DefaultJoinTokens: cfg.DefaultJoinTokens})
	hadoop := yarnweb.New(yarnweb.Config{Version: cfg.Version, Now: cfg.Now, Logger: s.log, Views: s.views,
		Reader: cfg.Reader, Consensus: cfg.Consensus, Explain: s.api.Explain,
		Reason: cfg.Hadoop.Reason, Admin: cfg.Hadoop.Admin, Groups: cfg.Hadoop.Groups, Settings: cfg.Hadoop.Settings,
		Proxied: cfg.Hadoop.Service != nil})
	s.mux.Add(s.api.Routes()...)
	s.mux.Add(hadoop.Routes()...)
	s.mux.Add(s.rootRoutes()...)
	s.mux.Add(metrics.Profiles(cfg.Profiles)...)
	return s.openPages()
}

// initialized reports whether the replica has a state of a cluster.
func (s *Server) initialized() bool {
	st, _ := s.cfg.Reader.Fork()
	return st.Meta.ClusterID != ""
}

// prefetch updates the summary, the samples and the explainer to the current state, so that pages
// find them up to date.
func (s *Server) prefetch() {
	v := s.views.Prefetch()
	if s.inStep() {
		s.sampler.Take(s.cfg.Now(), v.State, v.Summary(), v.Rooms())
	}
	if s.cfg.Prefetch != nil && v.State.Versions.Current() != nil {
		s.cfg.Prefetch(v.State)
	}
}

// inStep reports whether this replica's state is the cluster's current one, as far as this replica
// can know. It is not while the replica catches up or has no contact with the leader.
func (s *Server) inStep() bool {
	if ok, _ := s.cfg.Consensus.Ready(); !ok {
		return false
	}
	age := s.cfg.Consensus.Staleness()
	return age >= 0 && age < s.cfg.PrefetchPause
}

// every calls f at once, and then after each pause until Close.
func (s *Server) every(pause time.Duration, f func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		f()
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// Handler returns the handler of all requests, for a server of the caller.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Serve answers requests on a listener until Close. It limits connections and times.
func (s *Server) Serve(l net.Listener) error {
	return s.serveOn(limitConnections(l, s.cfg.MaxConnections, s.cfg.MaxPerAddress))
}

// ServeTLS is Serve with HTTPS on a plain listener. The limit of connections is below TLS, because
// net/http recognizes TLS only if the outermost listener provides it.
func (s *Server) ServeTLS(l net.Listener, conf *tls.Config) error {
	return s.serveOn(tls.NewListener(limitConnections(l, s.cfg.MaxConnections, s.cfg.MaxPerAddress), conf))
}

func (s *Server) serveOn(l net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: s.cfg.HeaderTimeout, IdleTimeout: s.cfg.IdleTimeout,
		MaxHeaderBytes: s.cfg.MaxHeaderBytes,
		ErrorLog:       s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
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

// Close stops accepting requests, ends event streams, and waits for the requests in progress, at
// most CloseTimeout.
func (s *Server) Close() error {
	s.mu.Lock()
	servers := s.servers
	s.closed = true
	s.mu.Unlock()
	s.mux.Close()
	s.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.CloseTimeout)
	defer cancel()
	var errs []error
	for _, srv := range servers {
		err := srv.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) { // a client that sends or reads nothing must not delay the end
			s.log.Info("requests in work are cut off", "after", s.cfg.CloseTimeout)
			err = srv.Close()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("close http server: %w", err))
		}
	}
	s.mux.Wait()
	s.wg.Wait()
	s.views.Close()
	return errors.Join(errs...)
}

// serve handles every request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := &recorder{ResponseWriter: w, challenge: s.guard.Challenge()}
	secureHeaders(rec.Header())
	defer s.bodies.count(r)()
	if !streaming(r.URL.Path) {
		r = view.WithFork(r, s.isLive(r))
	}
	label := s.answerPanic(rec, r)
	if rec.Header().Get("Content-Type") != "text/event-stream" { // a stream lasts as long as its client wants
		s.metrics.ObserveHTTP(label, rec.status(), time.Since(start))
	}
}

// answerPanic is answer, and answers also if the handler panics. net/http would close the connection
// without an answer, and log the panic where nobody looks.
func (s *Server) answerPanic(w *recorder, r *http.Request) (label string) {
	defer func() {
		p := recover()
		switch {
		case p == nil:
			return
		case p == http.ErrAbortHandler: // the handler wants the connection to end
			panic(p)
		}
		s.log.Error("handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		if w.code != 0 {
			panic(http.ErrAbortHandler) // the client must not take the part that it has for the whole
		}
		s.fail(s.mux.NewCall(w, r), errPanic)
		label = "panic"
	}()
	return s.answer(w, r)
}

var errPanic = errors.New("this request made the replica's handler fail")

// answer passes a request to the API or page that it is for. It returns the request's label in the
// metrics.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (label string) {
	c := s.mux.NewCall(w, r)
	if err := s.mayEnter(r); err != nil {
		s.fail(c, err)
		return "none"
	}
	// identity is an error: why the caller cannot be identified
	r, identity := s.guard.Identify(w.Header(), r, s.takesSession(r))
	c.R = r
	var err error
	switch {
	case s.page(r.URL.Path) != nil:
		if err = s.mux.SameSite(r); err == nil {
			s.servePages(w, r, identity)
			return "web"
		}
	case identity != nil:
		err = identity
	case s.cfg.Hadoop.Service != nil && yarnweb.ForService(r):
		if err = s.mayChangeHadoop(r); err == nil {
			s.cfg.Hadoop.Service.ServeHTTP(w, r)
			return "hadoop"
		}
	default:
		err = s.mux.Serve(c)
	}
	if err != nil {
		s.fail(c, err)
	}
	if c.Route != nil {
		return c.Route.Pattern
	}
	return "none"
}

// mayEnter refuses a request for another host, one in the name of a user that there cannot be, and
// one from the page of an ApplicationMaster that came through the proxy.
func (s *Server) mayEnter(r *http.Request) error {
	if err := s.guard.CheckHost(r); err != nil {
		return err
	}
	if err := auth.CheckNames(r); err != nil {
		return err
	}
	if r.Header.Get(yarnweb.ProxiedHeader) != "" && !yarnweb.ForProxy(r) {
		return problem.New(api.CodeNotAllowed, "the page of an ApplicationMaster may not be this server",
			"open it by its own address")
	}
	return nil
}

func (s *Server) mayChangeHadoop(r *http.Request) error {
	if err := s.mux.SameSite(r); err != nil {
		return err
	}
	least := yarn.RoleSubmit
	switch {
	case yarnweb.ForProxy(r):
		least = yarn.RoleRead
	case yarnweb.ForAdministrators(r): // user.name proves nothing
		least = yarn.RoleOperator
		if err := s.guard.Admit(r, auth.Access{Class: auth.ClassWrite, Least: least}); err != nil {
			return err
		}
	}
	return s.guard.AdmitHadoop(r, least)
}

// fail answers with an error in the format of the API that the request is for.
func (s *Server) fail(c *route.Call, err error) {
	if yarnweb.Owns(c.R.URL.Path) {
		yarnweb.Fail(s.mux, c, err)
		return
	}
	s.mux.Fail(c, err)
}

// streaming reports whether the answer or the body of a request may last long.
func streaming(path string) bool {
	return path == "/ui/live" || path == "/v1/events" || path == "/v1/snapshot" || path == "/v1/inputs" ||
		strings.HasPrefix(path, yarnweb.ProxyPath)
}

// secureHeaders sets the headers that every answer has.
func secureHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}

// recorder records the status of an answer and renews the write deadline before each part of the
// answer. An answer may be long, but a client that does not read it must not hold a connection
// forever. The WriteTimeout of http.Server would limit the whole answer.
type recorder struct {
	http.ResponseWriter
	code      int
	extended  time.Time
	challenge string // of Guard.Challenge
}

func (r *recorder) extend() {
	now := time.Now()
	if now.Sub(r.extended) < time.Second {
		return
	}
	r.extended = now
	// the ResponseRecorder of tests has no deadlines
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(now.Add(route.ChunkTimeout))
}

// WriteHeader records the status.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	if code == http.StatusUnauthorized && r.challenge != "" {
		r.Header().Set("WWW-Authenticate", r.challenge)
	}
	r.extend()
	r.ResponseWriter.WriteHeader(code)
}

// Write renews the deadline.
func (r *recorder) Write(p []byte) (int, error) {
	r.code = cmp.Or(r.code, http.StatusOK)
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
