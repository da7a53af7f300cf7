package v1

import (
	"context"
	"net/http"

	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/v1/api"
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
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.ReadTimeout)
	defer cancel()
	if err := s.takeWhatIf(ctx); err != nil {
		return err
	}
	defer s.giveWhatIf()
	v, err := c.View()
	if err != nil {
		return err
	}
	d, err := s.cfg.Planner.Preemption(s.privateFork(v.State))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}
