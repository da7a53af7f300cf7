package httpserver

import (
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// TestReasonFollowsTheState checks that an explanation is kept for a while, and not longer than the
// application waits for what it says.
func TestReasonFollowsTheState(t *testing.T) {
	says := "AM_LIMIT_QUEUE"
	b := newBench(t, func(c *Config) {
		c.Planner.Explain = func(_ *state.State, id yarn.ApplicationID) (*api.Explanation, error) {
			return &api.Explanation{ID: id.String(), Waiting: true, Reason: says}, nil
		}
	})
	why := func() string {
		var app api.App
		b.into(200, &app, "GET", "/v1/apps/"+app3, "")
		return app.Why
	}
	if got := why(); got != says {
		t.Fatalf("its reason is %s, want %s", got, says)
	}
	kept := says
	says = "NODE_TOO_SMALL_FREE"
	if got := why(); got != kept {
		t.Errorf("its reason is %s, want %s, which was kept", got, kept)
	}
	b.h.apply(t, &event.AttemptActivated{App: 3})
	if got := why(); got != says {
		t.Errorf("its AM may start, and its reason is %s, want %s", got, says)
	}
}
