package httpserver

import (
	"context"
	"net/http"
	"testing"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/yarn"
)

// TestForecast checks that the planner gets a state that contains the application, that an unknown
// application has no forecast, and that a replica without forecasts answers NOT_AVAILABLE.
func TestForecast(t *testing.T) {
	var asked string
	b := newBench(t, func(c *Config) {
		c.Planner.Forecast = func(_ context.Context, st *state.State, id yarn.ApplicationID) (*api.Forecast, error) {
			if asked = id.String(); st.Apps.ByID(id) == 0 {
				t.Errorf("%s is not in the state", id)
			}
			return &api.Forecast{ID: asked, Asks: []api.ForecastAsk{}}, nil
		}
	})
	var id string
	st, _ := b.h.Fork()
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool { id = a.ID.String(); return false })
	if r := b.ask("GET", "/v1/apps/"+id+"/forecast", ""); r.Code != http.StatusOK || asked != id {
		t.Errorf("status %d, asked for %q instead of %q", r.Code, asked, id)
	}
	b.fails(404, "NO_SUCH_APPLICATION", "GET", "/v1/apps/application_1_9999/forecast", "")
	b.fails(400, "INVALID_REQUEST", "GET", "/v1/apps/job_1/forecast", "")
	b.fails(400, "UNKNOWN_FIELD", "GET", "/v1/apps/"+id+"/forecast?runs=1000000", "")
	b.fails(405, "METHOD_NOT_ALLOWED", "POST", "/v1/forecast", "")
	none := newBench(t, func(c *Config) { c.Planner.Forecast = nil })
	none.fails(501, "NOT_AVAILABLE", "GET", "/v1/forecast", "")
	none.fails(501, "NOT_AVAILABLE", "GET", "/v1/apps/"+id+"/forecast", "")
}
