package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

// whatIf answers what another queue configuration would change. It is a read:
// the planner plans on a private fork, one question at a time, at most for
// ReadTimeout.
func whatIf(c *call) error {
	if c.s.cfg.WhatIf == nil {
		return notAvailable("planning ahead")
	}
	props, _, err := c.properties()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	select {
	case c.s.whatIf <- struct{}{}:
		defer func() { <-c.s.whatIf }()
	case <-ctx.Done():
		e := problem(api.CodeBusy, "another what-if is being answered", "ask again")
		e.RetryAfterMillis = 1000
		return e
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	if v.st.Version() == nil {
		return noQueues()
	}
	conf, err := capacity.Parse(props)
	if err != nil {
		return invalidConf(err)
	}
	in := make([]input.Property, len(props))
	for i, p := range props {
		in[i] = input.Property(p)
	}
	doc, err := c.s.cfg.WhatIf(c.s.privateFork(v.st), in, func() bool { return ctx.Err() != nil })
	if err != nil {
		return err
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode the what-if: %w", err)
	}
	var d api.WhatIf
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("what-if: %w", err)
	}
	d.Changes = changesOf(capacity.Diff(v.conf, conf))
	return c.json(http.StatusOK, d)
}

// invalidConf is a configuration that cannot be used, with every fault.
func invalidConf(err error) error {
	e := problem(string(input.InvalidQueues), "the queue configuration is invalid", "nothing was changed; \"rmd conf validate\" says more")
	if bad, ok := err.(*capacity.Invalid); ok {
		for _, f := range bad.Faults {
			e.Details = append(e.Details, f.String())
		}
	} else {
		e.Details = []string{err.Error()}
	}
	return e
}
