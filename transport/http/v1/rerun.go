package v1

import (
	"context"
	"net/http"

	"rmd/transport/http/problem"
	"rmd/transport/http/route"
)

// rerun plays what the log has recorded again, with reservations and without. It
// is a read: planners of its own plan, one question at a time, at most for
// ReadTimeout.
func (s *API) rerun(c *route.Call) error {
	if s.cfg.Planner.Rerun == nil {
		return problem.NotAvailable("playing the log again")
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
	d, err := s.cfg.Planner.Rerun(ctx, v.State)
	if err != nil {
		return err
	}
	d.AtMillis = s.cfg.Now().UnixMilli()
	return c.JSON(http.StatusOK, d)
}
