package view

import (
	"context"
	"net/http"
	"sync"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/frontend"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// After every fork of the state, the next batch copies the pages to which it writes. Therefore a
// request reads only one fork, and the requests that open pages repeat by themselves share a fork
// for a short time.

// Source makes views of the committed state. It is safe for concurrent use. Close drops what it
// keeps.
type Source struct {
	reader  Reader
	now     func() time.Time
	confs   frontend.QueueConf
	current summary.Keeper // of the committed state
	past    summary.Keeper // of earlier states
	recent  recent
}

// NewSource returns a source of views of a reader's state. now is the clock of this replica.
func NewSource(r Reader, now func() time.Time) *Source { return &Source{reader: r, now: now} }

// Close drops the summaries and the recent fork.
func (s *Source) Close() {
	s.current.Close()
	s.past.Close()
	s.recent.close()
}

// Of returns the view from which a request is answered.
func (s *Source) Of(r *http.Request) *View { return s.At(s.Fork(r)) }

// Now returns a view of the current state.
func (s *Source) Now() *View { return s.At(s.reader.Fork()) }

// At returns a view of a version of the state as it is now.
func (s *Source) At(st *state.State, index uint64) *View {
	v := s.view(st, index)
	v.NowMillis = max(s.now().UnixMilli(), v.NowMillis)
	return v
}

func (s *Source) view(st *state.State, index uint64) *View {
	v := &View{State: st, Index: index, NowMillis: st.Meta.NowMillis, Kinds: st.Versions.Kinds(),
		sizes: map[yarn.Resource]api.Resource{}, keeper: &s.current, confs: &s.confs}
	p := s.confs.At(st, 0)
	v.Conf, v.Tree = p.Conf, p.Tree
	return v
}

// Historical returns a view of an earlier state.
func (s *Source) Historical(st *state.State, index uint64) *View {
	v := s.view(st, index)
	v.keeper = &s.past
	return v
}

// Prefetch updates the summary to the current state, and returns a view of it. Regular calls save
// the first viewer of a large cluster a fifth of a second. It costs only what has changed.
func (s *Source) Prefetch() *View {
	v := s.Now()
	v.Summary()
	return v
}

// Kept returns the last summary of the committed state, or nil if it was dropped.
func (s *Source) Kept() *summary.Summary { return s.current.Have() }

// PageLag is the largest age of a state from which an open page renews itself.
const PageLag = 250 * time.Millisecond

// recentIdle is the time for which an unused fork is kept.
const recentIdle = 10 * time.Second

// recent is the fork that open pages share.
type recent struct {
	mu    sync.Mutex
	st    *state.State
	index uint64
	at    time.Time
	idle  *time.Timer
}

// fork returns a fork that is at most as old as the duration.
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

// forked is the fork from which a request is answered. It is made when it is first needed.
type forked struct {
	mu    sync.Mutex
	live  bool // an open page repeats the request by itself
	st    *state.State
	index uint64
}

type forkedKey struct{}

// WithFork gives a request its own fork. Streams must not use it, because the fork would live as
// long as they do. live says that an open page repeats the request by itself.
func WithFork(r *http.Request, live bool) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), forkedKey{}, &forked{live: live}))
}

// Fork returns the state from which a request is answered.
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

// Release drops a request's fork, so that the request's own changes show from now on.
func Release(r *http.Request) {
	if f, ok := r.Context().Value(forkedKey{}).(*forked); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.st, f.live = nil, false
	}
}

// Refork replaces a request's fork by a new one, which contains what the request has waited for.
func (s *Source) Refork(r *http.Request) (*state.State, uint64) {
	st, index := s.reader.Fork()
	if f, ok := r.Context().Value(forkedKey{}).(*forked); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.st, f.index = st, index
	}
	return st, index
}
