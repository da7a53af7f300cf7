package v1

import (
	"context"

	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// rerun replays the recorded part of the log, with and without reservations. It is a read: it uses
// its own planners, one call at a time, for at most ReadTimeout.
func (s *confs) rerun(c *route.Call) error {
	if s.cfg.Planner.Rerun == nil {
		return problem.NotAvailable("playing the log again")
	}
	err := s.planAhead(c, "playing the recorded workload again", func(ctx context.Context, v *view.View) (any, error) {
		d, err := s.cfg.Planner.Rerun(ctx, v.State)
		if err != nil {
			return nil, err
		}
		d.AtMillis = s.cfg.Now().UnixMilli()
		return d, nil
	})
	c.AuditRead("", err)
	return err
}
