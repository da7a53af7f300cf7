package server

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/analysis/whatif"
	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
)

// planned is called after the leader has planned an input. If preemption only observes, it logs
// what a round would have decided.
func (r *Replica) planned(kind input.Kind, took time.Duration) {
	r.metrics.ObservePlan(kind, took)
	// if locked, the previous round is still being examined
	if kind != input.KindPreemptionRound || !r.expiry.onlyObserves() || !r.observer.mu.TryLock() {
		return
	}
	r.wg.Go(func() {
		defer r.observer.mu.Unlock()
		st, _, _ := r.machine.Planning(0)
		r.observer.look(st, r.log)
	})
}

// preemptionObserver logs what rounds of preemption would decide, each decision once.
type preemptionObserver struct {
	mu    sync.Mutex
	known map[string]bool // the decisions of the previous round
}

func (o *preemptionObserver) look(st *state.State, log hclog.Logger) {
	d, err := whatif.PreemptionNow(st)
	if err != nil {
		return
	}
	for _, s := range o.news(d.Next.Warns) {
		log.Info("preemption only observes; it would warn", "containers", containersOf(s), "node", s.Node, "for",
			cmp.Or(s.App, s.Queue), "cause", s.Cause, "because", s.Text)
	}
}

// news returns the sets that the previous round did not choose.
func (o *preemptionObserver) news(sets []explain.PreemptionSet) (out []explain.PreemptionSet) {
	now := map[string]bool{}
	for _, s := range sets {
		key := containersOf(s) + " " + s.App
		if now[key] = true; !o.known[key] {
			out = append(out, s)
		}
	}
	o.known = now
	return out
}

func containersOf(s explain.PreemptionSet) string {
	ids := make([]string, len(s.Containers))
	for i, c := range s.Containers {
		ids[i] = c.ID
	}
	return strings.Join(ids, " ")
}
