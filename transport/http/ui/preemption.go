package ui

import "rmd/api"

type preemptionData struct {
	Index  uint64
	Plan   *api.Preemption
	NoPlan *api.Error
}

// preemptionPage shows what preemption has decided, and what its next round would decide. It asks the
// planner, which answers one call at a time.
func preemptionPage(q *query) (any, error) {
	d := preemptionData{Index: q.v.Index}
	var err error
	if d.Plan, err = q.u.cfg.API.Preemption(q.r.Context(), q.v); err != nil {
		d.NoPlan = q.u.cfg.Problems.Of(err, false)
	}
	return d, nil
}
