package view

import (
	"context"
	"net/http"
	"sync"
	"time"

	"rmd/fsm/state"
	"rmd/transport/frontend"
	"rmd/transport/http/summary"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// Every fork of the state makes the next batch copy the pages that it writes to.
// So everything on a request's way reads one fork, and the requests that open pages repeat by
// themselves share one for a moment.

// Source makes views of the committed state. It is safe for concurrent use; Close lets go
// what it keeps.
type Source struct {
	reader  Reader
	confs   frontend.QueueConf
	current summary.Keeper // follows the committed state
	past    summary.Keeper // of earlier states
	recent  recent
}

// NewSource makes views of what a reader reads.
func NewSource(r Reader) *Source { return &Source{reader: r} }

// Close lets go what is kept.
func (s *Source) Close() {
	s.current.Close()
	s.past.Close()
	s.recent.close()
}

// Of is the view that a request is answered from.
func (s *Source) Of(r *http.Request) *View { return s.At(s.Fork(r)) }

// Now is a view of the state as it is now.
func (s *Source) Now() *View { return s.At(s.reader.Fork()) }

// At is the view of a version of the state.
func (s *Source) At(st *state.State, index uint64) *View {
	v := &View{State: st, Index: index, Kinds: st.Kinds(), sizes: map[yarn.Resource]api.Resource{}, keeper: &s.current, confs: &s.confs}
	p := s.confs.At(st, 0)
	v.Conf, v.Tree = p.Conf, p.Tree
	return v
}

// Historical is the view of an earlier state.
func (s *Source) Historical(st *state.State, index uint64) *View {
	v := s.At(st, index)
	v.keeper = &s.past
	return v
}

// Prefetch brings what views are made from up to the state, and returns a view of it. Called
// again and again while nobody asks, it spares a large cluster's first viewer a fifth of
// a second. What has not changed costs nothing.
func (s *Source) Prefetch() *View {
	v := s.Now()
	v.Summary()
	return v
}

// Kept is the last summary of the committed state; nil when it was let go.
func (s *Source) Kept() *summary.Summary { return s.current.Have() }

// PageLag is how old the state may be that an open page is renewed from.
const PageLag = 250 * time.Millisecond

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

// fork returns a fork that is at most so old.
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

// WithFork gives a request a fork of its own. Streams must have none: it would live as
// long as they do. live says that an open page asks by itself.
func WithFork(r *http.Request, live bool) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), forkedKey{}, &forked{live: live}))
}

// Fork is the state that a request is answered from.
func (s *Source) Fork(r *http.Request) (*state.State, uint64) {
	f, ok := r.Context().Value(forkedKey{}).(*forked)
	if !ok {
		return s.reader.Fork()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.st != nil:
	case f.live:
		f.st, f.index = s.recent.fork(s.reader, PageLag)
	default:
		f.st, f.index = s.reader.Fork()
	}
	return f.st, f.index
}

// Release gives a request's fork up: what it has done must show from here on.
func Release(r *http.Request) {
	if f, ok := r.Context().Value(forkedKey{}).(*forked); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.st, f.live = nil, false
	}
}

// Refork takes a new fork for a request: what it has waited for must show.
func (s *Source) Refork(r *http.Request) (*state.State, uint64) {
	st, index := s.reader.Fork()
	if f, ok := r.Context().Value(forkedKey{}).(*forked); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.st, f.index = st, index
	}
	return st, index
}
