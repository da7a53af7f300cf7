package server

import (
	"sync"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/yarn"
)

// reasons says why applications wait. The planner's lists for it cost more the
// larger the state is, so that one explainer serves everybody and follows the
// state from question to question, and now and then while nobody asks. It keeps
// the version of the state alive that it has come to.
type reasons struct {
	mu      sync.Mutex
	planner *explain.Explainer // nil when nobody asked for a while
	at      time.Time          // when it was given a newer state
	idle    *time.Timer
}

// Clients poll for the sentence in their reports, so that one is told from a
// state that may be so old; an explanation is of the state that is asked about.
const reasonsKept = time.Second

// reasonsIdle is how long an explainer is kept that nobody asks.
const reasonsIdle = 30 * time.Second

// explain is the planner's whole explanation in a version of the state, which is
// only read.
func (r *reasons) explain(st *state.State, id yarn.ApplicationID) (*explain.Explanation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
	r.at = time.Now()
	return r.planner.Explain(st, id)
}

// of is YARN's sentence for an application; empty when there is nothing to say.
func (r *reasons) of(st *state.State, id yarn.ApplicationID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
	var x *explain.Explanation
	var err error
	now, told := time.Now(), false
	if now.Sub(r.at) <= reasonsKept {
		x, told, err = r.planner.Last(id)
	}
	if !told || err != nil { // it may have been submitted after that
		r.at = now
		if err = r.planner.Follow(st); err == nil {
			x, _, err = r.planner.Last(id)
		}
		if err != nil {
			return ""
		}
	}
	if x.Diagnostic != "" {
		return x.Diagnostic
	}
	return x.Text
}

// warm follows the state while nobody asks, so that nobody who asks has to wait
// for the planner's lists to be made. A state without a configuration has none.
func (r *reasons) warm(st *state.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
	if err := r.planner.Follow(st); err != nil {
		r.planner = nil
	}
}

// wake makes sure that there is an explainer. The lock is held.
func (r *reasons) wake() {
	if r.planner == nil {
		r.planner = &explain.Explainer{}
	}
	if r.idle == nil {
		r.idle = time.AfterFunc(reasonsIdle, r.rest)
		return
	}
	r.idle.Reset(reasonsIdle)
}

// rest lets the explainer go.
func (r *reasons) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.planner = nil
}

// close stops the clock.
func (r *reasons) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle != nil {
		r.idle.Stop()
	}
}
