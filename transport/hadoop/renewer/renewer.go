package renewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/apptoken"
	"rmd/fsm/state"
	"rmd/internal/job"
	"rmd/internal/leadership"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// Services calls the services that issued the tokens. conf is the configuration that came with the
// application. A renewal returns the zero time if the service does not limit the token.
type Services interface {
	Renew(ctx context.Context, t token.Token, conf []byte) (expires time.Time, err error)
	Cancel(ctx context.Context, t token.Token, conf []byte) error
	// Fetch gets new tokens of the default file system for a user.
	Fetch(ctx context.Context, user string) ([]token.Token, error)
	// Prepare does what a later call for a token needs besides its service.
	Prepare(ctx context.Context, t token.Token, conf []byte) error
}

// Reader reads the committed state of this replica.
type Reader interface {
	frontend.Reader
	// WatchTokens returns a watch on the tokens of applications from now on.
	WatchTokens() (Watch, error)
}

// Watch signals that tokens of applications have changed.
type Watch interface {
	// Next returns when an entry about tokens was applied that no earlier call has returned for. After
	// an error the renewer creates a new watch.
	Next(ctx context.Context) error
	Close()
}

// Config is the configuration of a Renewer.
type Config struct {
	// Logger, Submitter, Reader and Services are required.
	Logger    hclog.Logger
	Submitter frontend.Submitter
	Reader    Reader
	Services  Services
	// Final reports whether an error of Services says that no further call can succeed.
	Final func(err error) bool
	// Job records whether tokens can be renewed.
	Job    *job.Job
	Policy Policy

	// PerSecond limits the calls to one service.
	PerSecond int
	// Pause is the shortest time between two looks at the state: the results of many calls come at
	// once.
	Pause time.Duration
	// Gather is how long the result of a call for which nobody waits may wait for others, and the time
	// between two looks at what becomes due by time. The renewals of that time are one input: as many
	// inputs as tokens would delay those of ApplicationMasters (BenchmarkAskBesideTokens).
	Gather time.Duration
	// Now returns the current time.
	Now func() time.Time
}

// Defaults sets the fields that have a default.
func (c *Config) Defaults() {
	c.PerSecond, c.Pause, c.Gather = cmp.Or(c.PerSecond, 20), cmp.Or(c.Pause, 20*time.Millisecond),
		cmp.Or(c.Gather, 250*time.Millisecond)
	c.Now = time.Now
}

// Renewer calls the services of tokens while this replica leads.
type Renewer struct {
	cfg   Config
	woken chan struct{} // has an element if tokens have changed or a call has ended since the last look

	groups groups

	mu     sync.Mutex
	calls  map[key]bool         // in progress; true if its result is reported, which the next look removes
	active int                  // of the calls, those that have no result yet
	next   map[string]time.Time // when the next call to a service may begin
	lost   map[uint32]setback   // lost tokens whose replacement has failed in this term, by number
	wg     sync.WaitGroup
}

// setback says when to try again, after a number of failures in a row.
type setback struct {
	failures uint32
	again    time.Time
}

// key identifies a call: that for a token, or that for the first token of an application.
type key struct{ token, app uint32 }

// New returns a Renewer. It does nothing until it leads.
func New(cfg Config) (*Renewer, error) {
	if cfg.Logger == nil || cfg.Submitter == nil || cfg.Reader == nil || cfg.Services == nil || cfg.Final == nil {
		return nil, errors.New("renewer: logger, submitter, reader, services and final are required")
	}
	return &Renewer{cfg: cfg, woken: make(chan struct{}, 1), calls: map[key]bool{}, next: map[string]time.Time{},
		lost: map[uint32]setback{}}, nil
}

// Run calls Lead in every term in which this replica leads, until ctx ends or changes is closed. It
// always keeps what it needs to lead.
func (r *Renewer) Run(ctx context.Context, changes <-chan leadership.Leadership) {
	ctx, cancel := context.WithCancel(ctx)
	var preparing sync.WaitGroup
	defer preparing.Wait()
	defer cancel()
	preparing.Go(func() { r.stayPrepared(ctx) })
	var now leadership.Leadership
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case c, ok := <-changes:
			if !ok {
				return
			}
			if c == now {
				continue
			}
			stop()
			now, stop = c, func() {}
			if c.IsLeader {
				stop = r.start(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (r *Renewer) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Lead(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Lead makes the calls that are due until ctx ends, which must be when the leadership ends. When it
// returns, all its goroutines have ended.
func (r *Renewer) Lead(ctx context.Context) {
	defer r.wg.Wait()
	r.mu.Lock()
	clear(r.lost)
	r.mu.Unlock()
	for ctx.Err() == nil {
		if err := r.follow(ctx); ctx.Err() == nil {
			_ = r.cfg.Job.Done(err)
			r.cfg.Logger.Debug("watch of tokens starts again", "error", err)
			wait(ctx, reportAgain)
		}
	}
}

// follow looks at the state now, whenever it has changed or a call has ended, and when the next call
// is due. It creates the watch before the first look, so that it misses no change. It returns the
// reason why it cannot continue.
func (r *Renewer) follow(ctx context.Context) error {
	w, err := r.cfg.Reader.WatchTokens()
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer w.Close()
	if err := r.cfg.Reader.Current(ctx); err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	watching, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() { failed <- r.listen(watching, w) }()
	defer func() { cancel(); <-failed }()
	for ctx.Err() == nil {
		// Nobody waits for what becomes due by time, and a look reads all tokens.
		next := time.NewTimer(max(r.look(ctx), r.cfg.Gather))
		select {
		case <-r.woken:
		case <-next.C:
		case err := <-failed:
			failed <- err
			return err
		}
		next.Stop()
		wait(ctx, r.cfg.Pause)
	}
	return ctx.Err()
}

// listen wakes the renewer whenever tokens change.
func (r *Renewer) listen(ctx context.Context, w Watch) error {
	for {
		if err := w.Next(ctx); err != nil {
			return err
		}
		r.wake()
	}
}

func (r *Renewer) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// lookMost is the longest time between two looks: the clock may step meanwhile.
const lookMost = time.Minute

// look begins the calls that are due, those first for which an application waits. It returns the time
// until the next one is due, without those that wait for the end of another call.
func (r *Renewer) look(ctx context.Context) time.Duration {
	r.removeReported()
	st, now := r.cfg.Reader.Fork(), r.cfg.Now()
	next := now.Add(lookMost)
	due := r.due(st, now, &next)
	for _, t := range due {
		next = earlier(next, r.begin(key{token: t.Number}, t.Service, now, func() func() { return r.serve(ctx, st, t) }))
	}
	for h := range st.AppTokens.Holders() {
		switch at := time.UnixMilli(h.FetchMillis); {
		case h.FetchMillis == 0:
		case at.After(now):
			next = earlier(next, at)
		default:
			next = earlier(next, r.begin(key{app: h.App}, "", now, func() func() { return r.fetchFirst(ctx, st, h) }))
		}
	}
	return next.Sub(now)
}

// removeReported removes the calls whose results are in the state from now on. A call that is reported
// later stays until the next look, because this one would not see its result and make the call again.
func (r *Renewer) removeReported() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.calls, func(_ key, reported bool) bool { return reported })
}

// due returns the tokens for which a call is due and whose service may be called now, the most urgent
// ones first. It lowers next to the time when the first of the others is, or its service may be called.
func (r *Renewer) due(st *state.State, now time.Time, next *time.Time) (due []*apptoken.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t := range st.AppTokens.Tokens() {
		if !r.callable(t, now) || t.Phase == apptoken.Lost && !needed(st, t) {
			continue
		}
		if at := later(r.at(t), r.next[t.Service]); at.After(now) {
			*next = earlier(*next, at)
			continue
		}
		due = append(due, t)
	}
	slices.SortStableFunc(due, func(a, b *apptoken.Token) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.NextMillis, b.NextMillis))
	})
	return due
}

// at returns when to make the next call for a token. The state has no time for a lost one, which only
// a leader with proxy privileges has a use for. The caller holds the lock.
func (r *Renewer) at(t *apptoken.Token) time.Time {
	if t.Phase == apptoken.Lost {
		return r.lost[t.Number].again
	}
	return time.UnixMilli(t.NextMillis)
}

// needed reports whether an application of a token runs.
func needed(st *state.State, t *apptoken.Token) bool {
	return slices.ContainsFunc(t.Apps, func(app uint32) bool { return st.AppTokens.Holder(app).LeaveMillis == 0 })
}

// callable reports whether a call for a token can be of use. No token is renewed after its end, but it
// may be replaced.
func (r *Renewer) callable(t *apptoken.Token, now time.Time) bool {
	switch t.Phase {
	case apptoken.New, apptoken.Ending:
		return true
	case apptoken.Kept:
		return now.UnixMilli() < t.EndMillis && (t.Renewable() || r.replaceable(t))
	case apptoken.Lost:
		return r.replaceable(t)
	}
	return false
}

// replaceable reports whether a token is replaced: it is lost, or near to its latest end.
func (r *Renewer) replaceable(t *apptoken.Token) bool {
	p := &r.cfg.Policy
	if !p.Replace || t.Kind != apptoken.KindHDFS || t.MaxMillis == 0 {
		return false
	}
	return t.Phase == apptoken.Lost || t.Phase == apptoken.Kept && t.MaxMillis-t.EndMillis < p.Remaining.Milliseconds()
}

// begin begins a call unless it is in progress, or there are too many calls, or too many of a
// service. It returns when to try again if the service has had too many. The call returns what reports
// its result, or nil.
func (r *Renewer) begin(k key, service string, now time.Time, call func() (report func())) (again time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.calls[k]; busy || r.active >= r.cfg.Policy.ThreadsMax {
		return now.Add(lookMost)
	}
	if at := r.next[service]; now.Before(at) {
		return at
	}
	// A service may get the calls of one second at once.
	r.next[service] = later(r.next[service], now.Add(-time.Second)).Add(time.Second / time.Duration(r.cfg.PerSecond))
	for name, at := range r.next {
		if now.Sub(at) > time.Minute {
			delete(r.next, name)
		}
	}
	r.calls[k] = false
	r.active++
	r.wg.Go(func() {
		report := call()
		r.returned()
		if report != nil {
			report()
		}
		r.mu.Lock()
		r.calls[k] = true
		r.mu.Unlock()
		r.wake()
	})
	return now.Add(lookMost)
}

// returned records that a call has a result. Others may wait for its place.
func (r *Renewer) returned() {
	r.mu.Lock()
	full := r.active == r.cfg.Policy.ThreadsMax
	r.active--
	r.mu.Unlock()
	if full {
		r.wake()
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reportAgain is the time before a report or a watch is tried again.
const reportAgain = 100 * time.Millisecond

// Back-off after a failed call.
const (
	againFirst = 10 * time.Second
	againMost  = 10 * time.Minute
	againLeast = time.Second
)

// again returns the time before the next call after a number of failures in a row. While an
// application waits, all tries must fit in the time-out. Several tries must fit in the time that is
// left to a token, if it is short.
func (r *Renewer) again(failures uint32, waits bool, left time.Duration) time.Duration {
	d := min(againFirst<<min(failures, 10), againMost)
	if waits {
		d = r.cfg.Policy.Timeout / 10
	}
	d = min(d, max(left/4, againLeast))
	return d*4/5 + rand.N(d*2/5+1) // so that tokens that failed together are not tried together again
}

// leftOf returns the time until a token ends, as far as that limits further tries.
func (r *Renewer) leftOf(t *apptoken.Token) time.Duration {
	if t.Phase != apptoken.Kept {
		return noLimit
	}
	return time.Duration(t.EndMillis-r.cfg.Now().UnixMilli()) * time.Millisecond
}

// noLimit is the time that is left to what has no end.
const noLimit = time.Duration(math.MaxInt64)

// timeout returns the longest time of one call.
func (r *Renewer) timeout(waits bool) time.Duration {
	if waits {
		return r.cfg.Policy.Timeout / 4
	}
	return r.cfg.Policy.Timeout
}

func tokenOf(t *apptoken.Token) token.Token {
	return token.Token{Kind: t.Kind, Service: t.Service, Identifier: t.Identifier, Password: t.Password}
}

func userOf(st *state.State, app uint32) string {
	if slot := st.Apps.Find(app); slot != 0 {
		return st.Names.Text(st.Apps.Get(slot).User)
	}
	return ""
}

func idOf(st *state.State, app uint32) yarn.ApplicationID {
	if slot := st.Apps.Find(app); slot != 0 {
		return st.Apps.Get(slot).ID
	}
	return yarn.ApplicationID{}
}

// wait waits for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

var errOwn = errors.New("no longer valid in this cluster")

// failure returns the text about a failed renewal. It begins as YARN's for an application that
// waits, because the application shows it when it fails.
func (r *Renewer) failure(t *apptoken.Token, err error) string {
	if t.Phase == apptoken.New {
		return fmt.Sprintf("Failed to renew token: %s: %v", r.cfg.Policy.describe(tokenOf(t)), err)
	}
	return err.Error()
}
