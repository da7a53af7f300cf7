package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"rmd/transport/http/v1/api"
)

// rerun plays what the log has recorded again, with reservations and without. It
// is a read: planners of its own plan, one question at a time, at most for
// ReadTimeout.
func rerun(c *call) error {
	if c.s.cfg.Rerun == nil {
		return notAvailable("playing the log again")
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
	doc, err := c.s.cfg.Rerun(ctx, v.st)
	if err != nil {
		return err
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode what was played: %w", err)
	}
	var d api.Rerun
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("what was played: %w", err)
	}
	d.AtMillis = c.s.cfg.Now().UnixMilli()
	return c.json(http.StatusOK, d)
}
