package v1

import (
	"context"
	"net/http"

	"rmd/api"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// forecasts serves forecasts of starts.
type forecasts struct{ *shared }

func (s *forecasts) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/apps/{id}/forecast", "", s.forecastApp).Doc("Forecast when what an application waits for will start",
			nil, api.Forecast{}),
		route.Get("/v1/forecast", "", s.forecastReport).Doc("Show how well this replica's forecasts of starts held", nil,
			api.ForecastReport{}),
	}
}

// forecastApp answers when the containers for which an application waits will start.
func (s *forecasts) forecastApp(c *route.Call) error {
	if s.cfg.Planner.Forecast == nil {
		return problem.NotAvailable("planning ahead")
	}
	return s.planAhead(c, "forecasting starts", func(ctx context.Context, v *view.View) (any, error) {
		id, _, err := v.FindApp(c.Args["id"])
		if err != nil {
			return nil, err
		}
		return s.cfg.Planner.Forecast(ctx, s.privateFork(v.State), id)
	})
}

// Forecast returns when the containers for which an application waits will start. At most one call
// plans at a time.
func (s *forecasts) Forecast(ctx context.Context, v *view.View, id yarn.ApplicationID) (*api.Forecast, error) {
	if s.cfg.Planner.Forecast == nil {
		return nil, problem.NotAvailable("planning ahead")
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	if err := s.planning.take(ctx, "forecasting starts"); err != nil {
		return nil, err
	}
	defer s.planning.give()
	return s.cfg.Planner.Forecast(ctx, s.privateFork(v.State), id)
}

// ForecastReport returns how accurate this replica's forecasts of starts were.
func (s *forecasts) ForecastReport() (*api.ForecastReport, error) {
	if s.cfg.Planner.ForecastReport == nil {
		return nil, problem.NotAvailable("planning ahead")
	}
	return s.cfg.Planner.ForecastReport(), nil
}

func (s *forecasts) forecastReport(c *route.Call) error {
	d, err := s.ForecastReport()
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}
