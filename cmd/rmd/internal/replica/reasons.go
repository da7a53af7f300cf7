package replica

import (
	"sync"
	"time"

	"rmd/fsm"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/yarn"
)

// reasons says why applications wait. Clients poll for it, and a planner costs
// more the larger the state is: one is kept for a while.
type reasons struct {
	machine *fsm.Machine

	mu      sync.Mutex
	planner *scheduler.Planner
	until   time.Time
}

// A planner is kept for a second at least, and for so long that making planners
// takes a twentieth of the time at most.
const (
	reasonsKept  = time.Second
	reasonsShare = 20
)

// of is YARN's sentence for an application; empty when there is nothing to say.
func (r *reasons) of(_ *state.State, id yarn.ApplicationID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.planner == nil || now.After(r.until) {
		st, _, _ := r.machine.Planning(0)
		p, err := scheduler.New(st, scheduler.Options{})
		if err != nil {
			return ""
		}
		took := time.Since(now)
		r.planner, r.until = p, now.Add(took+max(reasonsKept, reasonsShare*took))
	}
	x, err := r.planner.Explain(id)
	if err != nil {
		return "" // it was submitted after the planner was made
	}
	if x.Diagnostic != "" {
		return x.Diagnostic
	}
	return x.Text
}
