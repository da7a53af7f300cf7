package v1

import (
	"context"

	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
)

func (s *API) preemptionRoutes() []route.Route {
	return []route.Route{
		route.Get("/v1/preemption", "", s.preemption).Doc("Show what preemption has decided, and what its next round would decide", nil, api.Preemption{}),
	}
}

// preemption answers what preemption does. A round runs on a private fork, one question at a time.
func (s *API) preemption(c *route.Call) error {
	if s.cfg.Planner.Preemption == nil {
		return problem.NotAvailable("planning ahead")
	}
	return s.planAhead(c, "planning a round of preemption", func(_ context.Context, v *view.View) (any, error) {
		return s.cfg.Planner.Preemption(s.privateFork(v.State))
	})
}
