package v1

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"rmd/api"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// preemptions serves what preemption does, and what it would have done.
type preemptions struct {
	*shared
	previewing sync.Mutex // allows one preview at a time
}

func (s *preemptions) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/preemption", "", s.preemption).Doc(
			"Show what preemption has decided, and what its next round would decide", nil, api.Preemption{}),
		route.Post("/v1/preemption:preview", "",
			s.preview).As("preemption preview").Doc(
			"Say what preemption would have done between two times; nothing is changed", api.PreviewPreemption{},
			api.PreemptionPreview{}),
	}
}

// preemption shows what preemption does. It plans a round on a private fork, one call at a time.
func (s *preemptions) preemption(c *route.Call) error {
	if s.cfg.Planner.Preemption == nil {
		return problem.NotAvailable("planning ahead")
	}
	return s.planAhead(c, "planning a round of preemption", func(_ context.Context, v *view.View) (any, error) {
		return s.cfg.Planner.Preemption(s.privateFork(v.State))
	})
}

// Preemption is the endpoint's document for a page, in the state of the view.
func (s *preemptions) Preemption(ctx context.Context, v *view.View) (*api.Preemption, error) {
	if s.cfg.Planner.Preemption == nil {
		return nil, problem.NotAvailable("planning ahead")
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	if err := s.planning.take(ctx, "planning a round of preemption"); err != nil {
		return nil, err
	}
	defer s.planning.give()
	return s.cfg.Planner.Preemption(s.privateFork(v.State))
}

// previewTimeout is the most time that a preview may take. Because it is longer than ReadTimeout, a
// preview does not make other calls wait: a second preview is refused at once.
const previewTimeout = 2 * time.Minute

// preview says what preemption would have done. It only reads the log and uses its own planners.
func (s *preemptions) preview(c *route.Call) error {
	if s.cfg.Planner.Preview == nil {
		return problem.NotAvailable("playing the log again")
	}
	var in api.PreviewPreemption
	if err := c.Read(&in); err != nil {
		return err
	}
	now := s.cfg.Now().UnixMilli()
	if in.ToMillis == 0 || in.ToMillis > now {
		in.ToMillis = now
	}
	if in.FromMillis <= 0 || in.FromMillis >= in.ToMillis {
		return problem.Invalid("from_ms is not a time before to_ms and before now",
			"give the Unix milliseconds at which the time begins", "from_ms")
	}
	d, err := s.previewed(c, in)
	c.AuditRead(fmt.Sprintf("from %d to %d", in.FromMillis, in.ToMillis), err)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

func (s *preemptions) previewed(c *route.Call, in api.PreviewPreemption) (*api.PreemptionPreview, error) {
	if !s.previewing.TryLock() {
		e := problem.New(api.CodeBusy, "this replica is busy with another preview", "ask again, or ask another replica")
		e.RetryAfterMillis = 1000
		return nil, e
	}
	defer s.previewing.Unlock()
	ctx, cancel := context.WithTimeout(c.R.Context(), previewTimeout)
	defer cancel()
	return s.cfg.Planner.Preview(ctx, in.FromMillis, in.ToMillis, in.Clip)
}
