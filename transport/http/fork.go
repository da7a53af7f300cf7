package httpserver

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"rmd/fsm/state"
)

// Every fork of the state makes the next batch copy the pages that it writes to.
// So a request is answered from one fork, whoever looks at it on the way, and
// what open pages ask for by themselves, again and again, from one that all of
// them share for a moment.

// pageLag is how old the state may be that an open page is renewed from.
const pageLag = 250 * time.Millisecond

// recentIdle is how long a fork is kept that nobody asks for.
const recentIdle = 10 * time.Second

// recent is the fork that open pages share. It is let go when nobody looks.
type recent struct {
	mu    sync.Mutex
	st    *state.State
	index uint64
	at    time.Time
	idle  *time.Timer
}

// fork is a fork that is not older than told.
func (k *recent) fork(r Reader, most time.Duration) (*state.State, uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if k.st == nil || now.Sub(k.at) > most {
		k.st, k.index = r.Fork()
		k.at = now
	}
	if k.idle == nil {
		k.idle = time.AfterFunc(recentIdle, k.drop)
	} else {
		k.idle.Reset(recentIdle)
	}
	return k.st, k.index
}

func (k *recent) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.st = nil
}

func (k *recent) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle != nil {
		k.idle.Stop()
	}
	k.st = nil
}

// forked is the fork that a request is answered from, once it is needed.
type forked struct {
	mu    sync.Mutex
	live  bool // an open page asks by itself
	st    *state.State
	index uint64
}

type forkedKey struct{}

// withFork gives a request a fork of its own. Streams have none: it would live as
// long as they do.
func withFork(r *http.Request) *http.Request {
	if streaming(r.URL.Path) {
		return r
	}
	live := r.Method == http.MethodGet && webPath(r.URL.Path) && r.Header.Get("X-Rmd-Live") != ""
	return r.WithContext(context.WithValue(r.Context(), forkedKey{}, &forked{live: live}))
}

func streaming(path string) bool {
	return path == "/ui/live" || path == "/v1/events" || path == "/v1/snapshot" || path == "/v1/inputs" || strings.HasPrefix(path, "/proxy/")
}

// forkOf is the state that a request is answered from.
func (s *Server) forkOf(r *http.Request) (*state.State, uint64) {
	f, ok := r.Context().Value(forkedKey{}).(*forked)
	if !ok {
		return s.cfg.Reader.Fork()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.st != nil:
	case f.live:
		f.st, f.index = s.recent.fork(s.cfg.Reader, pageLag)
	default:
		f.st, f.index = s.cfg.Reader.Fork()
	}
	return f.st, f.index
}

// unfork gives a request's fork up: what it has done must show from here on.
func unfork(r *http.Request) {
	if f, ok := r.Context().Value(forkedKey{}).(*forked); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.st, f.live = nil, false
	}
}

// reforked takes a new fork for a request: what it has waited for must show.
func (s *Server) reforked(r *http.Request) (*state.State, uint64) {
	st, index := s.cfg.Reader.Fork()
	if f, ok := r.Context().Value(forkedKey{}).(*forked); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.st, f.index = st, index
	}
	return st, index
}
