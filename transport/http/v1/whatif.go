package v1

import (
	"context"
	"net/http"

	"rmd/api"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/diff"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// whatIf says what another queue configuration would change. It is a read: the planner plans on a
// private fork, one call at a time, for at most ReadTimeout.
func (s *confs) whatIf(c *route.Call) error {
	if s.cfg.Planner.WhatIf == nil {
		return problem.NotAvailable("planning ahead")
	}
	props, _, err := s.properties(c)
	if err != nil {
		return err
	}
	return s.planAhead(c, "answering a what-if", func(ctx context.Context, v *view.View) (any, error) {
		if v.State.Versions.Current() == nil {
			return nil, problem.NoQueues()
		}
		conf, err := capacity.Parse(props)
		if err != nil {
			return nil, invalidConf(err)
		}
		in := make([]input.Property, len(props))
		for i, p := range props {
			in[i] = input.Property(p)
		}
		d, err := s.cfg.Planner.WhatIf(s.privateFork(v.State), in, func() bool { return ctx.Err() != nil })
		if err != nil {
			return nil, err
		}
		d.Changes, d.Landings = view.Changes(diff.Of(v.Conf, conf)), s.landings(ctx, v, conf)
		return d, nil
	})
}

// landings returns which applications a configuration would place in another queue, or nil if that
// is unknown.
func (s *confs) landings(ctx context.Context, v *view.View, to *capacity.Config) *api.Landings {
	if s.cfg.Planner.Landings == nil || v.Conf == nil {
		return nil
	}
	return s.cfg.Planner.Landings(v.State, v.Conf, to, func() bool { return ctx.Err() != nil })
}

// invalidConf returns the error for an invalid configuration, with all its faults.
func invalidConf(err error) error {
	e := problem.New(string(input.InvalidQueues), "the queue configuration is invalid",
		"nothing was changed; \"rmd conf validate\" says more")
	if bad, ok := err.(*capacity.Invalid); ok {
		for _, f := range bad.Faults {
			e.Details = append(e.Details, f.String())
		}
	} else {
		e.Details = []string{err.Error()}
	}
	return e
}

// planAhead answers with the result of f. At most one call plans at a time, for at most
// ReadTimeout. doing says what f does; a call that waits in vain gets it in its error.
func (s *shared) planAhead(c *route.Call, doing string, f func(ctx context.Context, v *view.View) (any, error)) error {
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.ReadTimeout)
	defer cancel()
	d, err := func() (any, error) {
		if err := s.planning.take(ctx, doing); err != nil {
			return nil, err
		}
		defer s.planning.give()
		v, err := c.View()
		if err != nil {
			return nil, err
		}
		return f(ctx, v)
	}()
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}
