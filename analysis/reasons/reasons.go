// Package reasons tells the readers of a replica why applications wait.
package reasons

import (
	"sync"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/yarn"
)

// Reasons explains why applications wait. The planner's lists for this are expensive in a large
// state, so one explainer serves all callers. It keeps its last version of the state in memory, and
// updates it at each question and regularly in between.
type Reasons struct {
	mu      sync.Mutex
	planner *explain.Explainer // nil if no question was asked for a while
	at      time.Time          // when planner last got a version of the state
	idle    *time.Timer
}

// kept is the age up to which an old version of the state is used for the text in reports,
// since clients poll for reports. Explanations use the current state.
const kept = time.Second

// unused is how long an unused explainer is kept.
const unused = 30 * time.Second

// Explain returns the full explanation for an application. It does not change st.
func (r *Reasons) Explain(st *state.State, id yarn.ApplicationID) (*explain.Explanation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
	r.at = time.Now()
	return r.planner.Explain(st, id)
}

// Of returns YARN's diagnostic text for an application, or "" if there is none.
func (r *Reasons) Of(st *state.State, id yarn.ApplicationID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
	var x *explain.Explanation
	var err error
	now, told := time.Now(), false
	if now.Sub(r.at) <= kept {
		x, told, err = r.planner.Last(id)
	}
	if !told || err != nil { // the application may be newer than the version
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

// Warm updates the explainer between questions, so that a question need not wait for the planner's
// lists. It does nothing if the state has no queue configuration.
func (r *Reasons) Warm(st *state.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
	if err := r.planner.Follow(st); err != nil {
		r.planner = nil
	}
}

// wake creates the explainer if there is none. The caller holds the lock.
func (r *Reasons) wake() {
	if r.planner == nil {
		r.planner = &explain.Explainer{}
	}
	if r.idle == nil {
		r.idle = time.AfterFunc(unused, r.dropExplainer)
		return
	}
	r.idle.Reset(unused)
}

// dropExplainer drops the explainer.
func (r *Reasons) dropExplainer() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.planner = nil
}

// Close stops the timer.
func (r *Reasons) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle != nil {
		r.idle.Stop()
	}
}
