package ui

import "rmd/transport/http/v1/api"

type forecastsData struct {
	Index    uint64
	Report   *api.ForecastReport
	NoReport *api.Error
}

// forecastsPage shows how well forecasts of starts held.
func forecastsPage(q *query) (any, error) {
	d := forecastsData{Index: q.v.Index}
	var err error
	if d.Report, err = q.u.cfg.API.ForecastReport(); err != nil {
		d.NoReport = q.u.cfg.Problems.Of(err, false)
	}
	return d, nil
}

// HeldPart is the part of the newest intervals that held, of 1.
func (d forecastsData) HeldPart() float64 {
	return float64(d.Report.Newest.Held) / float64(max(d.Report.Newest.Due, 1))
}
